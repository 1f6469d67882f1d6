package remote

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/infile"
)

// serverTrust is GARM_SERVER_CA, else the certificate in garm's config, else the system's roots.
func serverTrust(s settings.Settings, config *garmconfig.Config) (initializer.Trust, error) {
	switch {
	case s.ServerCA != "":
		data, err := infile.Read(s.ServerCA, infile.MaxPEM)
		if err != nil {
			return initializer.Trust{}, fmt.Errorf("cannot read GARM_SERVER_CA %s: %w", s.ServerCA, err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(data) {
			return initializer.Trust{}, fmt.Errorf("cannot use GARM_SERVER_CA %s: it holds no PEM certificate", s.ServerCA)
		}
		return initializer.Trust{Roots: roots}, nil
	case config != nil && config.TLS:
		leaf, err := config.Leaf()
		return initializer.Trust{Certificate: leaf}, err
	}
	return initializer.Trust{}, nil
}

// proxyFor: a server on this host is never asked through a proxy.
func proxyFor(u *url.URL) func(*http.Request) (*url.URL, error) {
	if loopback(u.Hostname()) {
		return nil
	}
	return http.ProxyFromEnvironment
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
