package garmconfig

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// canary stands for every secret of a config; it must never be seen in an error.
const canary = "Zx9vQ2kLm8nBt4wRy7uJc3hGf6dSa1eP"

// valid is a config with no fault that names no file that must exist but DIR.
const valid = `
[default]
metadata_url = "https://garm.example.com/api/v1/metadata"
callback_url = "https://garm.example.com/api/v1/callbacks"
webhook_url = "https://garm.example.com/webhooks"
[logging]
log_level = "debug"
log_format = "json"
[jwt_auth]
secret = "` + canary + `"
time_to_live = "24h"
[apiserver]
bind = "127.0.0.1"
port = 9997
use_tls = false
[database]
backend = "sqlite3"
passphrase = "` + canary + `"
[database.sqlite3]
db_file = "DIR/garm.db"
`

// edit replaces old, which must be there, in the valid config.
func edit(t *testing.T, dir, old, new string) []byte {
	t.Helper()
	if !strings.Contains(valid, old) {
		t.Fatalf("the valid config has no %q", old)
	}
	return []byte(strings.ReplaceAll(strings.Replace(valid, old, new, 1), "DIR", dir))
}

func TestParse(t *testing.T) {
	got, err := Parse("c.toml", edit(t, "/data", "log_level", `log_file = "/log/x"`+"\nlog_level"))
	if err != nil {
		t.Fatal(err)
	}
	got.root = nil
	want := Config{
		Path: "c.toml", Bind: "127.0.0.1", Port: 9997, Backend: "sqlite3", SQLiteFile: "/data/garm.db",
		LogLevel: "debug", LogFormat: "json", LogFile: "/log/x",
		MetadataURL: "https://garm.example.com/api/v1/metadata",
		CallbackURL: "https://garm.example.com/api/v1/callbacks",
		WebhookURL:  "https://garm.example.com/webhooks",
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}

// What garm understands in more than one spelling.
func TestParseSpellings(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		holds          func(*Config) bool
	}{
		{"defaults of logging", "[logging]\nlog_level = \"debug\"\nlog_format = \"json\"", "",
			func(c *Config) bool { return c.LogLevel == "info" && c.LogFormat == "text" && c.LogFile == "" }},
		{"old log_file", "[default]", "[default]\nlog_file = \"/old\"", func(c *Config) bool { return c.LogFile == "/old" }},
		{"both log_file", "[logging]", "log_file = \"/old\"\n[logging]\nlog_file = \"/new\"", func(c *Config) bool { return c.LogFile == "/new" }},
		{"upper case", "[apiserver]\nbind", "[APIServer]\nBIND", func(c *Config) bool { return c.Bind == "127.0.0.1" }},
		{"inline table", "[database.sqlite3]\ndb_file = \"DIR/garm.db\"", "sqlite3 = {db_file = \"/x/garm.db\"}",
			func(c *Config) bool { return c.SQLiteFile == "/x/garm.db" }},
		{"options in db_file", "garm.db", "garm.db?mode=rwc", func(c *Config) bool { return c.SQLiteFile == "/data/garm.db" }},
		{"mysql", `"sqlite3"`, `"mysql"`, func(c *Config) bool { return c.Backend == "mysql" && c.SQLiteFile == "" }},
		{"postgresql", `"sqlite3"`, `"postgresql"`, func(c *Config) bool { return c.Backend == "postgresql" && c.SQLiteFile == "" }},
		{"duration zero", `"24h"`, `0`, func(c *Config) bool { return true }},
		{"unused tls", "[apiserver]", "[apiserver.tls]\ncertificate = \"/none\"\n[apiserver]", func(c *Config) bool { return c.Certificate == "" }},
		{"unknown keys", "[default]", "[default]\nconfig_dir = 5\n[proxy]\nx = [1, {a = 2}]\n[[github]]\nname = \"x\"", func(c *Config) bool { return true }},
		{"byte order mark", "\n[default]", "\ufeff[default]", func(c *Config) bool { return c.MetadataURL != "" }},
	} {
		config, err := Parse("c.toml", edit(t, "/data", c.old, c.new))
		if err != nil || !c.holds(config) {
			t.Errorf("%s: got %+v, %v", c.name, config, err)
		}
	}
}

func TestParseFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`bind = "127.0.0.1"`, ``, `apiserver.bind is missing, garm has no default: set it to an IP address, "0.0.0.0" for all`},
		{`bind = "127.0.0.1"`, `bind = 1`, `apiserver.bind must be a string: put it in quotes`},
		{`"127.0.0.1"`, `"localhost"`, `apiserver.bind "localhost" is not an IP address: garm takes no host name, port or zone here; "0.0.0.0" means all`},
		{`"127.0.0.1"`, `"[::1]"`, `apiserver.bind "[::1]" is not an IP address: garm takes no host name, port or zone here; "0.0.0.0" means all`},
		{`"127.0.0.1"`, `"::ffff:10.0.0.1"`, `apiserver.bind "::ffff:10.0.0.1" makes garm fail with "too many colons": write "10.0.0.1"`},
		{`port = 9997`, ``, `apiserver.port is missing, garm has no default: set it to 9997`},
		{`9997`, `"9997"`, `apiserver.port must be a number without quotes, 1 to 65535`},
		{`9997`, `0`, `apiserver.port must be a number from 1 to 65535`},
		{`9997`, `4294977293`, `apiserver.port must be a number from 1 to 65535`},
		{`use_tls = false`, `use_tls = "no"`, `apiserver.use_tls must be true or false, without quotes`},
		{`"sqlite3"`, `"oracle"`, `database.backend "oracle" is not known: set it to "sqlite3"`},
		{`"sqlite3"`, `""`, `database.backend is missing: set it to "sqlite3"`},
		{`passphrase = "`, `passphrase = "x`, `database.passphrase has 33 bytes: it must have exactly 32, and must never change once credentials are stored`},
		{`"DIR/garm.db"`, `""`, `database.sqlite3.db_file is missing: set it to an absolute path`},
		{`"DIR/garm.db"`, `"garm.db"`, `database.sqlite3.db_file "garm.db" must be an absolute path`},
		{`"https://garm.example.com/webhooks"`, `"` + canary + `"`, `default.webhook_url is not a URL: write it like https://garm.example.com/...`},
		{`secret = "` + canary + `"`, ``, `jwt_auth.secret is missing: set it to a long random string`},
		{`time_to_live = "24h"`, ``, `jwt_auth.time_to_live is missing, garm has no default: set it to "24h" or more`},
		{`"24h"`, `"1d"`, `jwt_auth.time_to_live is not a duration: write it like "24h"`},
		{`"24h"`, `24`, `jwt_auth.time_to_live is not a duration: write it like "24h"`},
		{`"debug"`, `"DEBUG"`, `logging.log_level "DEBUG" is not known: use one of info, debug, warn, error`},
		{`"json"`, `"xml"`, `logging.log_format "xml" is not known: use one of text, json`},
		{"[logging]", "[[logging]]", `logging is no table: write [logging] above its keys`},
	} {
		_, err := Parse("c.toml", edit(t, "/data", c.old, c.new))
		if err == nil || err.Error() != "c.toml: "+c.want {
			t.Errorf("%s -> %s:\n got %v\nwant c.toml: %s", c.old, c.new, err, c.want)
		}
	}
}

func TestParseJoinsAllFaults(t *testing.T) {
	_, err := Parse("c.toml", []byte("[apiserver]\nuse_tls = true"))
	for _, key := range []string{"apiserver.bind", "apiserver.port", "apiserver.tls.certificate", "apiserver.tls.key",
		"database.backend", "database.passphrase", "jwt_auth.secret", "jwt_auth.time_to_live"} {
		if err == nil || !strings.Contains(err.Error(), "c.toml: "+key+" ") {
			t.Errorf("no fault for %s in:\n%v", key, err)
		}
	}
}

// The library quotes what it cannot read, and that can be a secret.
func TestSyntaxErrorsHideValues(t *testing.T) {
	const secret = `secret = "` + canary + `"`
	for _, c := range []struct{ new, want string }{
		{`secret = ` + canary, "line 10 (at or after key jwt_auth.secret) is not TOML: expected value but found something else"},
		{`secret = true` + canary, "line 10 (at or after key jwt_auth.secret) is not TOML: expected value but found something else"},
		{`secret = "` + canary, "line 10 (at or after key jwt_auth.secret) is not TOML: strings cannot contain newlines"},
		{`secret = '` + canary + `"`, "line 10 (at or after key jwt_auth.secret) is not TOML: strings cannot contain newlines"},
		{`secret = "\u` + canary + `"`, "line 10 (at or after key jwt_auth.secret) is not TOML: expected four hexadecimal digits after something else"},
		{`secret = "a" ` + canary, "line 10 (at or after key jwt_auth) is not TOML: expected a top-level item to end with a newline, comment, or EOF, but got something else"},
		{secret + "\n" + secret, "line 11 (at or after key jwt_auth.secret) is not TOML: this key or table is defined twice"},
		{`secret = 0123456789012345`, "line 10 (at or after key jwt_auth.secret) is not TOML: Invalid integer something else"},
		{`secret = "` + canary + "\x00\"", "TOML"},
		{canary, "line 10"},
	} {
		_, err := Parse("c.toml", edit(t, "/data", secret, c.new))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.new, err, c.want)
		} else if strings.Contains(err.Error(), canary[:4]) || strings.Contains(err.Error(), "01234") {
			t.Errorf("%s: the secret is shown: %v", c.new, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for _, c := range []struct{ bind, want string }{
		{"0.0.0.0", "127.0.0.1:9997"},
		{"127.0.0.5", "127.0.0.5:9997"},
		{"10.1.2.3", "10.1.2.3:9997"},
		{"::", "[::1]:9997"},
		{"::0", "[::1]:9997"},
		{"0:0:0:0:0:0:0:0", "[::1]:9997"},
		{"::1", "[::1]:9997"},
		{"fd00::12", "[fd00::12]:9997"},
	} {
		if !hasLoopback6() && c.want == "[::1]:9997" && c.bind != "::1" {
			c.want = "127.0.0.1:9997"
		}
		config, err := Parse("c.toml", edit(t, "/data", "127.0.0.1", c.bind))
		if err != nil {
			t.Errorf("%s: %v", c.bind, err)
			continue
		}
		if got := config.DialAddress(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.bind, got, c.want)
		}
		if got := config.BaseURL(); got != "http://"+c.want {
			t.Errorf("%s: got %s", c.bind, got)
		}
		config.TLS = true
		if got := config.BaseURL(); got != "https://"+c.want {
			t.Errorf("%s: got %s", c.bind, got)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if _, err := Read(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "Docker makes one") {
		t.Errorf("directory: got %v", err)
	}
	if _, err := Read("/dev/null"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("device: got %v", err)
	}
	// Read does not look at other files, Load does.
	write(t, file, string(edit(t, "/no/such", "[default]", "[default]")))
	if _, err := Read(file); err != nil {
		t.Error(err)
	}
	if _, err := Load(file); err == nil {
		t.Error("Load did not miss the directory of the database")
	}
}
