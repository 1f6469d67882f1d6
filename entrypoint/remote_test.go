package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/fakegarm"
	"garm-entrypoint/internal/testgarm"
)

// proxied is a garm behind a reverse proxy that speaks https and serves it under a path, with a certificate for
// 127.0.0.1.
func proxied(t *testing.T, garm string) (server, ca string) {
	t.Helper()
	to, err := url.Parse(garm)
	if err != nil {
		t.Fatal(err)
	}
	ca, key := testgarm.KeyPair(t, filepath.Join(t.TempDir(), "proxy"), func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })
	pair, err := tls.LoadX509KeyPair(ca, key)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.SetXForwarded() }, ErrorLog: log.New(io.Discard, "", 0)}
	front := httptest.NewUnstartedServer(http.StripPrefix("/tools/garm", proxy))
	front.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	return front.URL, ca
}

// remotely runs init or watch against a server.
func remotely(t *testing.T, args []string, server string, env ...string) *testgarm.Proc {
	t.Helper()
	p := testgarm.Start(t, testgarm.Entrypoint(t), args, append([]string{"GARM_SERVER=" + server, "GARM_CONFIG=/nowhere",
		"GARM_PASSWORD=" + testgarm.Canary, "GARM_BASE_URL=" + base}, env...))
	testgarm.WatchCanary(t, p)
	t.Cleanup(func() { testgarm.NoCanary(t, []*testgarm.Proc{p}) })
	return p
}

// A server behind a reverse proxy with a path prefix, over https: init waits until it is there, and trusts whom it is
// told to.
func TestInitBehindProxy(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir())
	garm := testgarm.BaseURL(t, config)
	front, ca := proxied(t, garm)
	waiting := remotely(t, []string{cmdInit}, front+"/tools/garm/", "GARM_SERVER_CA="+ca, "GARM_LOG_LEVEL=debug")
	waiting.WaitFor("trying again.*answered 502", patience)
	testgarm.StartGarm(t, config)
	if code := waiting.Wait(patience); code != 0 || !strings.Contains(waiting.Stdout(), "admin admin: created") {
		t.Errorf("ended with %d", code)
	}
	releases[len(releases)-1].proven(t, garm, testgarm.Canary)

	other, _ := testgarm.KeyPair(t, filepath.Join(t.TempDir(), "other"))
	byName := strings.Replace(front, "127.0.0.1", "localhost", 1)
	var refused []*testgarm.Proc
	var lines []string
	for _, c := range []struct{ why, server, ca, line string }{
		{"another CA", front + "/tools/garm", other, "certificate"},
		{"the system's roots", front + "/tools/garm", "", "certificate"},
		{"another name", byName + "/tools/garm", ca, "not localhost"},
		{"no prefix", front, ca, "404"},
		{"plain http", strings.Replace(front, "https:", "http:", 1) + "/tools/garm", ca, "400"},
	} {
		refused = append(refused, remotely(t, []string{cmdInit, "--start-timeout", "3s"}, c.server, "GARM_SERVER_CA="+c.ca))
		lines = append(lines, c.line)
	}
	for n, p := range refused {
		if code := p.Wait(patience); code != exitUnavailable || !strings.Contains(p.Output(), lines[n]) {
			t.Errorf("ended with %d, want %d and %q: %s", code, exitUnavailable, lines[n], p.Output())
		}
	}

	w := remotely(t, []string{cmdWatch}, front+"/tools/garm", "GARM_SERVER_CA="+ca)
	w.WaitFor("msg=initialised", patience)
	w.Signal(syscall.SIGTERM)
	if code := w.Wait(patience); code != 143 {
		t.Errorf("watch ended with %d", code)
	}
}

// What scripts get: each field, before, at and after the first time.
func TestInitJSON(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir())
	testgarm.StartGarm(t, config)
	server := testgarm.BaseURL(t, config)
	type result struct {
		ControllerID  string `json:"controller_id"`
		ServerVersion string `json:"server_version"`
		AdminCreated  bool   `json:"admin_created"`
		Changed       []struct{ Field, From, To string }
		URLsMissing   bool `json:"urls_missing"`
		DryRun        bool `json:"dry_run"`
	}
	ask := func(args ...string) (r result) {
		t.Helper()
		p := remotely(t, append([]string{cmdInit, "--output", "json"}, args...), server)
		if code := p.Wait(patience); code != 0 {
			t.Fatalf("%v: ended with %d", args, code)
		}
		if p.Stderr() != "" {
			t.Errorf("%v: standard error %q", args, p.Stderr())
		}
		decoder := json.NewDecoder(strings.NewReader(p.Stdout()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil {
			t.Errorf("%v: %v in %s", args, err, p.Stdout())
		}
		return r
	}
	if r := ask("--dry-run"); !r.AdminCreated || len(r.Changed) != 4 || !r.DryRun || r.ControllerID != "" {
		t.Errorf("dry run on a fresh server: %+v", r)
	}
	r := ask()
	if !r.AdminCreated || len(r.Changed) != 4 || r.DryRun || r.URLsMissing || r.ControllerID == "" || r.ServerVersion != testgarm.Version(t) {
		t.Errorf("first: %+v", r)
	}
	api := testgarm.API(t, server)
	if again := ask(); again.AdminCreated || len(again.Changed) != 0 || again.ControllerID != r.ControllerID {
		t.Errorf("again: %+v", again)
	}
	const theirs = "https://by.hand/m"
	api.Update(mustLogin(t, server), map[string]string{"metadata_url": theirs})
	for _, args := range [][]string{{"--dry-run"}, {}} {
		r := ask(args...)
		if len(r.Changed) != 1 || r.Changed[0].From != theirs || r.Changed[0].To != theURLs.MetadataURL || r.AdminCreated {
			t.Errorf("%v on one that differs: %+v", args, r)
		}
	}
	if c, _ := api.Controller(mustLogin(t, server)); c.MetadataURL != theURLs.MetadataURL {
		t.Errorf("controller %+v", c)
	}
}

// One that waits for a server that does not come ends at once when it is told to.
func TestRemoteStops(t *testing.T) {
	t.Parallel()
	for _, command := range []string{cmdInit, cmdWatch} {
		p := remotely(t, []string{command}, "http://127.0.0.1:1", "GARM_LOG_LEVEL=debug")
		p.WaitFor("trying again", patience)
		begin := time.Now()
		p.Signal(syscall.SIGTERM)
		if code := p.Wait(patience); code != 143 || p.EndedAt().Sub(begin) > time.Second {
			t.Errorf("%s ended with %d after %v", command, code, p.EndedAt().Sub(begin))
		}
	}
}

// Another process makes the admin, and keeps his password where we look, after we have looked.
func TestRemotePasswordKeptMeanwhile(t *testing.T) {
	t.Parallel()
	for _, command := range []string{cmdInit, cmdWatch} {
		dir := t.TempDir()
		garm := fakegarm.New(fakegarm.V021)
		garm.Users["admin"] = testgarm.Canary
		var once sync.Once
		garm.Before = func(http.ResponseWriter, *http.Request) bool {
			once.Do(func() {
				if err := os.WriteFile(filepath.Join(dir, state.PasswordFile), []byte(testgarm.Canary+"\n"), 0o600); err != nil {
					t.Error(err)
				}
			})
			return false
		}
		server := httptest.NewServer(garm)
		defer server.Close()
		p := testgarm.Start(t, testgarm.Entrypoint(t), []string{command}, []string{"GARM_SERVER=" + server.URL, "GARM_CONFIG=/nowhere", "GARM_STATE_DIR=" + dir})
		p.WaitFor("admin admin: already there", patience)
		if command == cmdWatch {
			p.Signal(syscall.SIGTERM)
		}
		if code := p.Wait(patience); code != 0 && code != 143 {
			t.Errorf("%s ended with %d", command, code)
		}
		if kept(t, dir) != testgarm.Canary {
			t.Error("the password is gone")
		}
	}
}
