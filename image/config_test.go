package image_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	garm "github.com/cloudbase/garm/config"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/image"
	"garm-entrypoint/internal/testgarm"
)

// Nobody has garm's verdict on secrets at hand when one is generated, so no generated secret may ever be weak.
func TestDefaultConfigPassesGarm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := map[string]bool{}
	for range 50 {
		path := writeConfig(t, dir)
		config, err := garm.NewConfig(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{config.JWTAuth.Secret, config.Database.Passphrase} {
			if seen[secret] {
				t.Fatal("a secret came twice")
			}
			seen[secret] = true
		}
	}
	ours, err := garmconfig.Load(writeConfig(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s:%d %s %s %s", ours.Bind, ours.Port, ours.SQLiteFile, ours.LogLevel, ours.LogFormat)
	if want := "0.0.0.0:9997 " + dir + "/" + image.DatabaseFile + " info text"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Every option that is off must work when it is switched on, alone and with all others.
func TestCommentedOptions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := defaultConfig(t, dir)
	// An option stands in the first column after its #, prose after a blank.
	blocks := regexp.MustCompile(`(?m)(^#[^ \n].*\n)+`).FindAllString(string(data), -1)
	if len(blocks) < 10 {
		t.Fatalf("found only %d blocks of options", len(blocks))
	}
	uncomment := func(block string) string { return regexp.MustCompile(`(?m)^#`).ReplaceAllString(block, "") }
	all := string(data)
	for _, block := range blocks {
		checkOptions(t, block, strings.Replace(string(data), block, uncomment(block), 1))
		all = strings.Replace(all, block, uncomment(block), 1)
	}
	checkOptions(t, "all", all)
}

// checkOptions wants garm and us to accept the config, and garm to know each key of it.
func checkOptions(t *testing.T, name, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"/opt/garm/providers.d/garm-provider-lxd", "/etc/garm/garm-provider-lxd.toml", "/etc/garm/tls.crt", "/etc/garm/tls.key"} {
		stand := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(stand, nil, 0o700); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, file, stand)
	}
	testgarm.KeyPair(t, dir+"/tls")
	text = strings.ReplaceAll(text, "/var/log/garm", dir)
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := garm.NewConfig(path); err != nil {
		t.Errorf("garm refuses with %s: %v", name, err)
	}
	if _, err := garmconfig.Load(path); err != nil {
		t.Errorf("we refuse with %s: %v", name, err)
	}
	var config garm.Config
	meta, err := toml.Decode(text, &config)
	if err != nil || len(meta.Undecoded()) > 0 {
		t.Errorf("with %s: %v; garm does not know %v", name, err, meta.Undecoded())
	}
}

func TestDefaultConfigQuotesAnyPath(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{
		"/", "/data", `/a "b" \c 'd'`, "/new\nline\ttab\x01\x7f", "/ü 日本 \U0001F600 \u2028", "/@PASSPHRASE@ @JWT_SECRET@", "/%s $x {{.}}", "/]\n[x]",
	} {
		config, err := garmconfig.Parse("c.toml", defaultConfig(t, dir))
		if err != nil || config.SQLiteFile != filepath.Join(dir, image.DatabaseFile) {
			t.Errorf("%q: got %+v, %v", dir, config, err)
		}
	}
	for _, dir := range []string{"", "relative", "/latin1\xe9", "/what?"} {
		if _, err := image.DefaultConfig(dir); err == nil {
			t.Errorf("%q: no error", dir)
		}
	}
}

// The real garm serves on it. Only the port is changed, so that tests can run side by side.
func TestDefaultConfigStartsGarm(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, t.TempDir())
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("port = 9997"), fmt.Appendf(nil, "port = %d", testgarm.FreePort(t)), 1)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	testgarm.StartGarm(t, path)
	if status := testgarm.API(t, testgarm.BaseURL(t, path)).FirstRun(testgarm.User{
		Username: "admin", Password: testgarm.Canary, Email: "admin@localhost", FullName: "Admin"}); status != 200 {
		t.Errorf("first run: status %d", status)
	}
}

func defaultConfig(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := image.DefaultConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeConfig(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, defaultConfig(t, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
