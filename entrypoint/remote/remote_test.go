package remote

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/testgarm"
)

func read(t *testing.T, env ...string) settings.Settings {
	t.Helper()
	s, _, err := settings.Read(settings.CmdWatch, nil, env)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Which server is meant: GARM_SERVER, else the local one of garm's config.
func TestServer(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir())
	for name, c := range map[string]struct {
		env         []string
		server, err string
		unencrypted bool
	}{
		"named":              {[]string{"GARM_CONFIG=/nowhere", "GARM_SERVER=https://g.example.com/tools"}, "https://g.example.com/tools", "", false},
		"named, in the open": {[]string{"GARM_CONFIG=/nowhere", "GARM_SERVER=http://g.example.com"}, "http://g.example.com", "", true},
		"local":              {[]string{"GARM_CONFIG=" + config}, testgarm.BaseURL(t, config), "", false},
		"neither":            {[]string{"GARM_CONFIG=/nowhere"}, "", "cannot tell which server to initialise: set GARM_SERVER to its URL", false},
		"no PEM": {[]string{"GARM_SERVER=https://g.example.com", "GARM_CONFIG=/nowhere", "GARM_SERVER_CA=" + config},
			"", "it holds no PEM certificate", false},
	} {
		s := read(t, append(c.env, "GARM_PASSWORD=x")...)
		config, err := ReadConfig(s)
		var r *Remote
		if err == nil {
			r, err = New(s, config)
		}
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", name, err, c.err)
			}
		case err != nil || r.Options.Server.String() != c.server || r.Unencrypted() != c.unencrypted:
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// A password that is configured is kept nowhere; without one there must be a place for it.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for env, want := range map[string]string{"GARM_PASSWORD=x": "", "GARM_STATE_DIR=" + dir: filepath.Join(dir, "admin-password")} {
		r, err := New(read(t, "GARM_SERVER=https://g.example.com", env), nil)
		if err != nil || r.PasswordFile() != want {
			t.Errorf("%s: %v", env, err)
		}
	}
	if _, err := New(read(t, "GARM_SERVER=https://g.example.com"), nil); err == nil || !strings.Contains(err.Error(), "cannot log in without a password") {
		t.Errorf("no place: %v", err)
	}
	if _, err := New(read(t, "GARM_PASSWORD=x"), &garmconfig.Config{Bind: "127.0.0.1", Port: 1, TLS: true, Certificate: "/nowhere"}); err == nil {
		t.Error("a certificate that is not there is trusted")
	}
}

// A server on this host is never asked through a proxy.
func TestProxyFor(t *testing.T) {
	t.Parallel()
	for server, proxied := range map[string]bool{
		"http://localhost:1": false, "http://127.0.0.2:1": false, "http://[::1]:1": false, "https://g.example.com": true, "http://10.0.0.1": true,
	} {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		if got := proxyFor(u) != nil; got != proxied {
			t.Errorf("%s: %t", server, got)
		}
	}
}
