package initializer_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

// tlsBench serves a fake garm over TLS and initialises it with that trust.
func tlsBench(t *testing.T, config *tls.Config, http2 bool, trust func(*x509.Certificate) initializer.Trust) (*fakegarm.Server, *atomic.Value, error) {
	t.Helper()
	garm := fakegarm.New(fakegarm.V021)
	var proto atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto.Store(r.Proto)
		garm.ServeHTTP(w, r)
	}))
	server.TLS, server.EnableHTTP2 = config, http2
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	u, _ := url.Parse(server.URL)
	b := newBench(t, garm, func(o *initializer.Options) {
		o.Server = u
		o.Transport = initializer.NewTransport(trust(server.Certificate()), nil)
	})
	_, err := b.Ensure(within(t, 3*time.Second))
	return garm, &proto, err
}

// quiet keeps handshakes that are meant to fail out of the test's output.
var quiet = log.New(io.Discard, "", 0)

func pinned(c *x509.Certificate) initializer.Trust { return initializer.Trust{Certificate: c} }

func TestTLSVersions(t *testing.T) {
	for name, c := range map[string]struct {
		config *tls.Config
		http2  bool
		proto  string
	}{
		"TLS 1.2":       {&tls.Config{MaxVersion: tls.VersionTLS12}, false, "HTTP/1.1"},
		"TLS 1.3":       {&tls.Config{MinVersion: tls.VersionTLS13}, false, "HTTP/1.1"},
		"offers HTTP/2": {&tls.Config{}, true, "HTTP/1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			garm, proto, err := tlsBench(t, c.config, c.http2, pinned)
			if err != nil || garm.Users["admin"] != password || proto.Load() != c.proto {
				t.Errorf("%v, users %v, %v", err, garm.Users, proto.Load())
			}
		})
	}
}

func TestTLSTrust(t *testing.T) {
	roots := func(add bool) func(*x509.Certificate) initializer.Trust {
		return func(c *x509.Certificate) initializer.Trust {
			pool := x509.NewCertPool()
			if add {
				pool.AddCert(c)
			}
			return initializer.Trust{Roots: pool}
		}
	}
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	for name, c := range map[string]struct {
		trust   func(*x509.Certificate) initializer.Trust
		trusted bool
	}{
		"its CA":     {roots(true), true},
		"another CA": {roots(false), false},
		"another certificate": {func(own *x509.Certificate) initializer.Trust {
			stranger := *own
			stranger.Raw = append([]byte{0}, own.Raw...)
			return pinned(&stranger)
		}, false},
		"the system's roots": {func(*x509.Certificate) initializer.Trust { return initializer.Trust{} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garm, _, err := tlsBench(t, nil, false, c.trust)
			if (err == nil) != c.trusted {
				t.Errorf("%v, trusted is to be %v", err, c.trusted)
			}
			if len(garm.Requests) > 0 != c.trusted {
				t.Errorf("a server that is not trusted got %v", garm.Requests)
			}
		})
	}
}

// The host name counts where a CA is trusted, and does not where the very certificate is.
func TestTLSHostName(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	server := httptest.NewUnstartedServer(garm) // for 127.0.0.1 and example.com
	server.Config.ErrorLog = quiet
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	for name, c := range map[string]struct {
		trust initializer.Trust
		good  bool
	}{"CA": {initializer.Trust{Roots: pool}, false}, "pin": {pinned(server.Certificate()), true}} {
		u, _ := url.Parse(server.URL)
		u.Host = "localhost:" + u.Port()
		b := newBench(t, garm, func(o *initializer.Options) {
			o.Server, o.Transport = u, initializer.NewTransport(c.trust, nil)
		})
		if _, err := b.Ensure(within(t, time.Second)); (err == nil) != c.good {
			t.Errorf("%s: %v, good is to be %v", name, err, c.good)
		}
	}
}

// Whatever a server answers: no panic, no success without proof, no secret in an error, and an end.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", `{"token":"x"}`)
	f.Add(409, "application/json", `{"error":"init_required","details":"Missing superuser"}`)
	f.Add(400, "text/plain", "Client sent an HTTP request to an HTTPS server.")
	f.Add(301, "text/html", "<html>")
	f.Add(200, ";;;", `{"token":{"a":1},"controller_id":7,"ca_cert_bundle":"!"}`)
	f.Add(404, "application/json", `{"error":5,"details":[]}`)
	f.Fuzz(func(t *testing.T, code int, contentType, body string) {
		// One attempt: the transport does not heed the context, the pause does.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		b := newBench(t, fakegarm.New(fakegarm.V021), func(o *initializer.Options) {
			o.FirstBoot = true
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				header := http.Header{"Content-Type": {contentType}, "Location": {body}}
				return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})
		})
		if _, err := b.Probe(ctx); err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("shows the password: %v", err)
		}
		if _, err := b.Ensure(ctx); err == nil {
			t.Error("initialised by a server that says the same to everything")
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
