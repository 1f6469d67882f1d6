package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// healthy wants the health check to say so.
func healthy(t *testing.T, config string) {
	t.Helper()
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"healthcheck"}, []string{"GARM_CONFIG=" + config})
	if code := p.Wait(patience); code != 0 {
		t.Errorf("healthcheck: %d %s", code, p.Output())
	}
}

// Exactly the configured certificate is trusted, whatever its names and dates.
func TestRunTLS(t *testing.T) {
	expired := func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	}
	for name, c := range map[string]struct {
		edits []func(*x509.Certificate)
		chain bool
		warns int
	}{
		"foreign name": {},
		"expired":      {edits: []func(*x509.Certificate){expired}, warns: 1},
		"chain":        {chain: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			certificate, key := testgarm.KeyPair(t, filepath.Join(dir, "server"), c.edits...)
			if c.chain {
				other, _ := testgarm.KeyPair(t, filepath.Join(dir, "issuer"))
				appendFile(t, certificate, other)
			}
			testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Certificate, s.Key = certificate, key })
			r := start(t, dir, nil)
			r.ready()
			healthy(t, r.config)
			if n := strings.Count(r.Stderr(), "has expired"); n != c.warns {
				t.Errorf("%d warnings of an expired certificate, want %d", n, c.warns)
			}
			r.stop()
		})
	}
}

func appendFile(t *testing.T, to, from string) {
	t.Helper()
	a, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, append(a, b...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The certificate is renewed on disk while garm serves the old one.
func TestRunTLSRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, key := testgarm.KeyPair(t, filepath.Join(dir, "server"))
	testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Certificate, s.Key = certificate, key })
	r := start(t, dir, nil, "GARM_WATCH_INTERVAL=20ms")
	r.ready()
	testgarm.KeyPair(t, filepath.Join(dir, "server"))
	r.WaitFor("was renewed on disk", patience)
	healthy(t, r.config)
	looks := strings.Count(r.Stdout(), "uri=/api/v1/controller ")
	testgarm.Eventually(t, patience, "more looks", func() bool { return strings.Count(r.Stdout(), "uri=/api/v1/controller ") > looks+3 })
	if n := strings.Count(r.Stderr(), "level=WARN"); n != 2 { // and no URLs are set
		t.Errorf("%d warnings, want the one of the URLs and one of the certificate", n)
	}
	r.stop()
}

// A server with another certificate on that port gets no byte of a secret.
func TestRunTLSStranger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, key := testgarm.KeyPair(t, filepath.Join(dir, "server"))
	config := testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Certificate, s.Key = certificate, key })
	stranger, strangersKey := testgarm.KeyPair(t, filepath.Join(dir, "stranger"))
	pair, err := tls.LoadX509KeyPair(stranger, strangersKey)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the stranger got a request") }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"init", "--start-timeout", "300ms"},
		[]string{"GARM_CONFIG=" + config, "GARM_SERVER=" + server.URL, "GARM_PASSWORD=" + testgarm.Canary})
	if code := p.Wait(patience); code != exitUnavailable || !strings.Contains(p.Output(), "not the configured one") {
		t.Errorf("ended with %d", code)
	}
}
