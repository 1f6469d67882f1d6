package garmapi

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Trust says which https servers NewTransport talks to.
type Trust struct {
	// Certificate, when set, is the one leaf certificate that is accepted, whatever its names and dates: the one that
	// the server was configured with.
	Certificate *x509.Certificate
	// Roots verify the chain, host name included, when there is no Certificate. nil: the system's.
	Roots *x509.CertPool
	// Anything accepts every certificate. For anonymous requests only.
	Anything bool
}

// NewTransport returns a transport with that trust and no proxy but the given one (nil: none; a server on this host
// must never be asked through a proxy).
//
// It speaks HTTP/1.1, also to servers that offer HTTP/2: with GODEBUG set to http2debug=2 Go prints whole HTTP/2
// requests, passwords included, here and in garm.
func NewTransport(trust Trust, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:               proxy,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: -1}).DialContext,
		TLSClientConfig:     trust.config(),
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        1,
		IdleConnTimeout:     5 * time.Minute,
		DisableCompression:  true,
	}
}

func (t Trust) config() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.Roots}
	switch {
	case t.Certificate != nil:
		pinned := t.Certificate.Raw
		// The pin replaces the chain check, in VerifyConnection, which is called for resumed sessions too and before
		// any byte of ours.
		config.InsecureSkipVerify = true
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, pinned) {
				return ErrOtherCertificate
			}
			return nil
		}
	case t.Anything:
		config.InsecureSkipVerify = true
	}
	return config
}
