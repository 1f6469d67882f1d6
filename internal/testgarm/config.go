package testgarm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
)

// JWTSecret and Passphrase are the secrets of every Config.
const (
	JWTSecret  = "jwtcanaryQ8Zr2Tw6Yp4Lk9Xn3Vb7Mc5"
	Passphrase = "phrasecanaryH7Jd3Fg9Sa5Wq1Er8Ty2"
)

// Settings are what tests vary in a config.
type Settings struct {
	Bind             string // 127.0.0.1
	Port             int    // a free one
	Certificate, Key string // TLS when set
	Database         string // garm.db beside the config
	LogLevel         string // info
	Default          string // more lines for [default]
	Extra            string // more sections, at the end of the file
}

// Config writes a config.toml that garm accepts to dir and returns its path.
func Config(t testing.TB, dir string, edits ...func(*Settings)) string {
	t.Helper()
	s := Settings{Bind: "127.0.0.1", Database: filepath.Join(dir, "garm.db"), LogLevel: "info"}
	for _, edit := range edits {
		edit(&s)
	}
	if s.Port == 0 {
		s.Port = FreePort(t)
	}
	text := fmt.Sprintf(`[default]
%s
[logging]
log_level = %q
[jwt_auth]
secret = %q
time_to_live = "24h"
[apiserver]
bind = %q
port = %d
use_tls = %t
[apiserver.tls]
certificate = %q
key = %q
[database]
backend = "sqlite3"
passphrase = %q
[database.sqlite3]
db_file = %q
%s
`, s.Default, s.LogLevel, JWTSecret, s.Bind, s.Port, s.Certificate != "", s.Certificate, s.Key, Passphrase, s.Database, s.Extra)
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// BaseURL is where the server of this config is reached from its own host.
func BaseURL(t testing.TB, config string) string {
	t.Helper()
	c, err := garmconfig.Read(config)
	if err != nil {
		t.Fatal(err)
	}
	return c.BaseURL()
}

// StartGarm starts the real garm and returns when its API answers.
func StartGarm(t testing.TB, config string) *Proc {
	t.Helper()
	return StartRelease(t, Version(t), config)
}

// StartRelease is StartGarm with the garm of that version.
func StartRelease(t testing.TB, version, config string) *Proc {
	t.Helper()
	p := Start(t, Release(t, version), []string{"--config", config}, nil)
	api := API(t, BaseURL(t, config))
	Eventually(t, 30*time.Second, "garm's API", func() bool {
		select {
		case <-p.Ended():
			t.Fatalf("garm ended with %d", p.code)
		default:
		}
		return api.Up()
	})
	return p
}
