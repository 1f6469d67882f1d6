package garmconfig_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/internal/testgarm"
)

// Our verdict on a config is that of the real garm. It ends with 1 at once when it refuses, and serves otherwise.
func TestVerdictIsGarms(t *testing.T) {
	t.Parallel()
	const bind, db = `bind = "127.0.0.1"`, `db_file = "`
	for _, c := range []struct {
		name, old, new string
		refused        bool
	}{
		{"good", "", "", false},
		{"bind host", bind, `bind = "localhost"`, true},
		{"bind missing", bind, ``, true},
		{"bind with zone", bind, `bind = "fe80::1%lo"`, true},
		{"bind in brackets", bind, `bind = "[::1]"`, true},
		{"bind mapped", bind, `bind = "::ffff:127.0.0.1"`, true},
		{"bind leading zero", bind, `bind = "127.0.0.01"`, true},
		{"bind any", bind, `bind = "0.0.0.0"`, false},
		{"bind any of IPv6", bind, `bind = "::0"`, false},
		{"bind IPv6", bind, `bind = "::1"`, false},
		{"bind other loopback", bind, `bind = "127.0.0.5"`, false},
		{"upper case keys", "[apiserver]\n" + bind, "[APISERVER]\nBind = \"127.0.0.1\"", false},
		{"port text", "port = ", "port = '1'\nx = ", true},
		{"port missing", "port = ", "x = ", true},
		{"port too big", "port = ", "port = 65536\nx = ", true},
		{"ttl missing", "time_to_live", "x", true},
		{"ttl in days", `"24h"`, `"1d"`, true},
		{"ttl number", `"24h"`, `24`, true},
		{"ttl zero", `"24h"`, `0`, false},
		{"ttl short", `"24h"`, `"1s"`, false},
		{"secret missing", "secret = ", "x = ", true},
		{"passphrase short", "phrasecanary", "phrase", true},
		{"passphrase 32 runes", "phrasecanary", "phrasecanarü", true},
		{"backend unknown", `"sqlite3"`, `"sqlite"`, true},
		{"database relative", db + "/", db, true},
		{"database without directory", db, db + "/none/none", true},
		{"database directory", "garm.db", "", true},
		{"database options", "garm.db", "garm.db?x=1", false},
		{"level", `"info"`, `"INFO"`, true},
		{"level empty", `"info"`, `""`, false},
		{"format", "log_level", "log_format = 'xml'\nlog_level", true},
		{"url", "[default]", "[default]\nmetadata_url = 'garm.example.com'", true},
		{"url good", "[default]", "[default]\nmetadata_url = 'https://garm.example.com'", false},
		{"tls without files", "use_tls = false", "use_tls = true", true},
		{"default missing", "[default]", "", false},
		{"section of the wrong kind", "[logging]", "[[logging]]", true},
		{"duplicate key", "port = ", "port = 1\nport = ", true},
		{"unknown keys", "[default]", "[default]\nx = 1\n[x]\ny = 2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := testgarm.Config(t, dir)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(data), c.old) {
				t.Fatalf("the config has no %q", c.old)
			}
			if err := os.WriteFile(path, []byte(strings.Replace(string(data), c.old, c.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			config, err := garmconfig.Load(path)
			if (err != nil) != c.refused {
				t.Errorf("our verdict: %v", err)
			}
			if c.refused {
				garm := testgarm.Start(t, testgarm.Garm(t), []string{"--config", path}, nil)
				if code := garm.Wait(20 * time.Second); code != 1 {
					t.Errorf("garm ended with %d", code)
				}
			} else if config != nil {
				testgarm.StartGarm(t, path) // dials where we say
			}
		})
	}
}

// The real garm serves on what is derived from a config with everything in it, on the given address, with the
// original's database, and without its providers.
func TestLoopbackStartsGarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	provider := filepath.Join(dir, "provider")
	if err := os.WriteFile(provider, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := testgarm.Config(t, dir, func(s *testgarm.Settings) {
		s.Bind = "192.0.2.1" // nobody's: garm cannot listen there
		s.Certificate, s.Key = testgarm.KeyPair(t, filepath.Join(dir, "tls"))
		s.Default = "metadata_url = 'https://garm.example.com/api/v1/metadata'\nenable_webhook_management = true\nunknown = 07:32:00"
		s.Extra = "busy_timeout_seconds = 5\n[metrics]\nenable = true\nperiod = '60s'\n" +
			"[[provider]]\nname = 'p'\nprovider_type = 'external'\nexternal = {provider_executable = '" + provider + "'}\n" +
			"[[github]]\nname = 'g'\npat = {oauth2_token = 'x'}\n[proxy]\nhttp = [{a = 1}, 2]\n"
	})
	config, err := garmconfig.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := config.Loopback(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(testgarm.FreePort(t))))
	if err != nil {
		t.Fatal(err)
	}
	derived := filepath.Join(dir, "derived.toml")
	if err := os.WriteFile(derived, data, 0o600); err != nil {
		t.Fatal(err)
	}
	isNew(t, config, true)
	testgarm.StartGarm(t, derived)
	isNew(t, config, false)
	api := testgarm.API(t, testgarm.BaseURL(t, derived))
	user := testgarm.User{Username: "admin", Password: testgarm.Canary, Email: "admin@localhost", FullName: "Admin"}
	if status := api.FirstRun(user); status != 200 {
		t.Fatalf("first run: status %d", status)
	}
	token, _ := api.Login("admin", testgarm.Canary)
	if c, _ := api.Controller(token); c.MetadataURL != "https://garm.example.com/api/v1/metadata" {
		t.Errorf("controller: %+v", c)
	}
	if strings.Contains(string(data), provider) {
		t.Error("the provider is still there")
	}
}

// Why an empty file is new whatever lies beside it: garm comes up without its admin.
func TestEmptyDatabaseWithWALIsNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := testgarm.Config(t, dir)
	user := testgarm.User{Username: "admin", Password: testgarm.Canary, Email: "admin@localhost", FullName: "Admin"}
	for range 2 {
		garm := testgarm.StartGarm(t, path)
		if status := testgarm.API(t, testgarm.BaseURL(t, path)).FirstRun(user); status != 200 {
			t.Fatalf("first run: status %d", status)
		}
		garm.Signal(15)
		garm.Wait(20 * time.Second)
		if info, err := os.Stat(dir + "/garm.db-wal"); err != nil || info.Size() == 0 {
			t.Fatalf("garm left no -wal file: %v", err)
		}
		if err := os.Truncate(dir+"/garm.db", 0); err != nil {
			t.Fatal(err)
		}
		config, err := garmconfig.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		isNew(t, config, true)
	}
}

func isNew(t *testing.T, config *garmconfig.Config, want bool) {
	t.Helper()
	if got, err := config.DatabaseIsNew(); err != nil || got != want {
		t.Errorf("new: got %v, %v, want %v", got, err, want)
	}
}
