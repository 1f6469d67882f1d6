package garmconfig

import (
	"net/netip"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

var loopback = netip.MustParseAddrPort("127.0.0.1:1234")

const rich = `
[apiserver]
bind = "10.0.0.1"
port = 9997
cors_origins = ["*"]
future = 1979-05-27T07:32:00
[apiserver.webui]
enable = true
[default]
date = 1979-05-27
time = 07:32:00.5
instant = 1979-05-27T07:32:00.000001-07:00
[database]
backend = "sqlite3"
passphrase = "Zx9vQ2kLm8nBt4wRy7uJc3hGf6dSa1eP"
sqlite3 = {db_file = "/data/garm.db", busy_timeout_seconds = 5}
[jwt_auth]
secret = "quote \" backslash \\ tab \t control \u0001 ü 日本 \U0001F600 \u007f"
time_to_live = "24h"
[[github]]
name = "one"
[github.pat]
oauth2_token = "x"
[[github]]
name = "two"
[github.app]
app_id = 9223372036854775807
[[github.list]]
[[github.list]]
deep = [[{a = []}], [1, 2.0, "x", {b = {c = 1979-05-27}}]]
[unknown]
"quoted.key \" " = 1e5
'' = -inf
hex = 0xdead_beef
text = """
line
"""
empty = []
dates = [1979-05-27, 07:32:00]
[unknown.nothing]
[[provider]]
name = "lxd"
provider_type = "external"
[provider.external]
provider_executable = "/none"
`

func TestLoopback(t *testing.T) {
	check := func(t *testing.T, addr netip.AddrPort) {
		config, _ := parse("c.toml", []byte(rich))
		out, err := config.Loopback(addr)
		if err != nil {
			t.Fatal(err)
		}
		kept, _, _ := strings.Cut(rich, "[[provider]]")
		kept = strings.Replace(strings.Replace(kept, "10.0.0.1", addr.Addr().String(), 1), "9997", "1234", 1)
		if got, want := values(t, string(out)), values(t, kept); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %#v\nwant %#v\nfrom\n%s", got, want, out)
		}
		if !reflect.DeepEqual(map[string]any(config.root), values(t, rich)) {
			t.Error("the config was changed by deriving from it")
		}
	}
	t.Run("v4", func(t *testing.T) { check(t, loopback) })
	t.Run("v6", func(t *testing.T) { check(t, netip.MustParseAddrPort("[::1]:1234")) })
}

// A time without a zone must not move, wherever the machine stands. The zone is read when the process starts.
func TestLoopbackInAnotherZone(t *testing.T) {
	if os.Getenv("TZ") == "Asia/Tokyo" {
		t.Skip("is the child")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestLoopback$", "-test.v")
	child.Env = append(os.Environ(), "TZ=Asia/Tokyo")
	if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestLoopback/v4") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestLoopbackFindsKeysInAnyCase(t *testing.T) {
	config, _ := parse("c.toml", []byte("[ApiServer]\nBind = \"0.0.0.0\"\nPORT = 1\nx = 2\n[apiserver]\nbind = \"::\"\n[[PROVIDER]]\n[[provider]]"))
	out, err := config.Loopback(loopback)
	if err != nil {
		t.Fatal(err)
	}
	want := "[ApiServer]\nbind = \"127.0.0.1\"\nport = 1234\nx = 2\n[apiserver]\nbind = \"127.0.0.1\"\nport = 1234\n"
	if !reflect.DeepEqual(values(t, string(out)), values(t, want)) {
		t.Errorf("got\n%s", out)
	}
}

func values(t *testing.T, document string) (root map[string]any) {
	t.Helper()
	if _, err := toml.Decode(document, &root); err != nil {
		t.Fatalf("%v in\n%s", err, document)
	}
	return root
}

// No text may panic, and what can be parsed must survive the derivation.
func FuzzParse(f *testing.F) {
	f.Add(valid)
	f.Add(rich)
	f.Add("apiserver = {bind = '::', tls = {}}\nprovider = []\nx = [{a = [[]]}, {}]")
	f.Fuzz(func(t *testing.T, document string) {
		_, err := Parse("c.toml", []byte(document))
		config, faults := parse("c.toml", []byte(document))
		if (err == nil) != (len(faults.list) == 0) {
			t.Fatal(err, faults.list)
		}
		if config == nil {
			return
		}
		out, err := config.Loopback(loopback)
		if err != nil {
			t.Fatal(err)
		}
		derived, faults := parse("c.toml", out)
		if derived == nil {
			t.Fatalf("%v in\n%s", faults.list, out)
		}
		if _, ok := config.root["apiserver"].(map[string]any); ok && derived.DialAddress() != loopback.String() {
			t.Fatalf("listens on %s", derived.DialAddress())
		}
		if strings.Contains(document, "nan") {
			return // equals nothing
		}
		for key, want := range config.root {
			known := strings.EqualFold(key, "provider") || strings.EqualFold(key, "apiserver")
			if got := derived.root[key]; !known && !reflect.DeepEqual(normal(got), normal(want)) {
				t.Fatalf("%q became %#v, was %#v", key, got, want)
			}
		}
	})
}

// normal makes [[x]] and x = [{}], which mean the same, equal.
func normal(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			value[key] = normal(item)
		}
	case []map[string]any:
		var items []any
		for _, item := range value {
			items = append(items, normal(item))
		}
		return items
	case []any:
		for i, item := range value {
			value[i] = normal(item)
		}
	}
	return value
}

func TestTrial(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{rich, "[Database]\nBackend = \"mysql\"\n", ""} {
		config, _ := parse("config.toml", []byte(text))
		data, err := config.Trial(loopback, dir)
		if err != nil {
			t.Fatal(err)
		}
		trial, _ := parse("trial", data)
		if trial.Bind != "127.0.0.1" || trial.Port != 1234 || trial.Backend != "sqlite3" || trial.SQLiteFile != dir+"/trial.db" ||
			trial.LogFile != TrialLog(dir) || trial.LogLevel != "info" {
			t.Errorf("%+v", trial)
		}
		_, had := config.root.get("provider")
		if _, has := trial.root.get("provider"); has != had {
			t.Error("the providers are not kept")
		}
	}
}
