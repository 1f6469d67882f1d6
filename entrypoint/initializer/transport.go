package initializer

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Trust says which https servers NewTransport talks to.
type Trust struct {
	// Certificate, when set, is the one leaf certificate that is accepted,
	// whatever its names and dates: the one that the server was configured
	// with.
	Certificate *x509.Certificate
	// Roots verify the chain, host name included, when there is no
	// Certificate. nil: the system's.
	Roots *x509.CertPool
	// Anything accepts every certificate. For anonymous requests only.
	Anything bool
}

// NewTransport returns a transport with that trust and no proxy but the given
// one (nil: none; a server on this host must never be asked through a proxy).
//
// It speaks HTTP/1.1, also to servers that offer HTTP/2: with GODEBUG set to
// http2debug=2 Go prints whole HTTP/2 requests, passwords included, here and in
// garm.
func NewTransport(trust Trust, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: -1}).DialContext,
		TLSClientConfig:       trust.config(),
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: requestTimeout,
		MaxIdleConns:          1,
		IdleConnTimeout:       5 * time.Minute,
		DisableCompression:    true,
	}
}

func (t Trust) config() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.Roots}
	switch {
	case t.Certificate != nil:
		pinned := t.Certificate.Raw
		// The pin replaces the chain check, in VerifyConnection, which is
		// called for resumed sessions too and before any byte of ours.
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

// ErrOtherCertificate: a server answered whose certificate is not the pinned
// one. Nothing was sent to it.
var ErrOtherCertificate = errors.New("the server's certificate is not the configured one, so nothing was sent to it")

// wire notes when the server last answered and bounds what can be read of an
// answer.
type wire struct {
	next http.RoundTripper
	// lastAnswer is zero before the first one. http.Client calls RoundTrip in
	// the caller's goroutine, so it needs no lock.
	lastAnswer time.Time
	onAnswer   func()
	userAgent  string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.userAgent != "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", w.userAgent)
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if w.lastAnswer.IsZero() && w.onAnswer != nil {
		w.onAnswer()
	}
	w.lastAnswer = time.Now()
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxBody}
	return resp, nil
}

type limitedBody struct {
	io.ReadCloser
	left int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes: is this garm?", maxBody)
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}
