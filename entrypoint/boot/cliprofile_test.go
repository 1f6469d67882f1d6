package boot

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"garm-entrypoint/entrypoint/settings"
)

// manager is an entry of garm-cli's config.
type manager = map[string]any

func ours(token string) manager {
	return manager{"name": profileName, "base_url": "http://127.0.0.1:9997", "bearer_token": token}
}

func testProfile(t *testing.T) (*cliProfile, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	return &cliProfile{
		path: filepath.Join(t.TempDir(), ".local", "share", "garm-cli", "config.toml"), baseURL: "http://127.0.0.1:9997",
		log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, &log
}

func TestCLIProfileUpdate(t *testing.T) {
	t.Parallel()
	other := manager{"name": "prod", "base_url": "https://garm.example.com", "bearer_token": "theirs"}
	for name, c := range map[string]struct {
		have, want map[string]any
		may        bool
	}{
		"empty": {map[string]any{}, map[string]any{"active_manager": profileName, "manager": []manager{ours("new")}}, true},
		"ours": {
			map[string]any{"active_manager": profileName, "manager": []manager{ours("old")}},
			map[string]any{"active_manager": profileName, "manager": []manager{ours("new")}}, true},
		"ours, moved": {
			map[string]any{"active_manager": profileName, "manager": []manager{{"name": profileName, "base_url": "http://10.0.0.1:1"}}},
			map[string]any{"active_manager": profileName, "manager": []manager{ours("new")}}, true},
		// Who added a server of his own keeps it, and his choice.
		"ours among others": {
			map[string]any{"active_manager": "prod", "manager": []manager{other, ours("old")}},
			map[string]any{"active_manager": "prod", "manager": []manager{other, ours("new")}}, true},
		"foreign": {
			map[string]any{"active_manager": "prod", "manager": []manager{other}},
			map[string]any{"active_manager": "prod", "manager": []manager{other}}, false},
		"no servers": {
			map[string]any{"active_manager": "", "future": int64(1)},
			map[string]any{"active_manager": profileName, "future": int64(1), "manager": []manager{ours("new")}}, true},
	} {
		p, _ := testProfile(t)
		if may := p.update(c.have, "new"); may != c.may || !reflect.DeepEqual(c.have, c.want) {
			t.Errorf("%s: %t %v, want %t %v", name, may, c.have, c.may, c.want)
		}
	}
}

func TestCLIProfileWrite(t *testing.T) {
	t.Parallel()
	const foreign = "active_manager = \"prod\"\n[[manager]]\nname = \"prod\"\nbase_url = \"https://garm.example.com\"\n"
	for name, c := range map[string]struct {
		have    string // "": no file
		same    bool
		log     string
		servers int
	}{
		"missing":  {have: "", servers: 1},
		"ours":     {have: "[[manager]]\nname = \"garm-entrypoint\"\nbearer_token = \"old\"\n", servers: 1},
		"foreign":  {have: foreign, same: true, log: "is not ours and is left alone"},
		"not TOML": {have: "token = swordfish\n", same: true, log: "it is not TOML"},
	} {
		p, log := testProfile(t)
		if c.have != "" {
			if err := os.MkdirAll(filepath.Dir(p.path), 0o755); err != nil {
				t.Fatal(err)
			}
			// As garm-cli leaves it.
			if err := os.WriteFile(p.path, []byte(c.have), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		p.save("fresh")
		data, err := os.ReadFile(p.path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
			t.Errorf("%s: log %q, want %q", name, log.String(), c.log)
		}
		if strings.Contains(log.String(), "fresh") || strings.Contains(log.String(), "swordfish") {
			t.Errorf("%s: the log shows a token", name)
		}
		if c.same {
			if string(data) != c.have {
				t.Errorf("%s: was changed to %q", name, data)
			}
			continue
		}
		var got struct {
			Manager []struct {
				Name    string
				BaseURL string `toml:"base_url"`
				Token   string `toml:"bearer_token"`
			}
		}
		if err := toml.Unmarshal(data, &got); err != nil || len(got.Manager) != c.servers || got.Manager[0].Token != "fresh" ||
			got.Manager[0].Name != profileName || got.Manager[0].BaseURL != p.baseURL {
			t.Errorf("%s: %+v (%v)", name, got, err)
		}
		if info, err := os.Stat(p.path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v (%v), want 0600", name, info.Mode(), err)
		}
	}
}

// A profile is a convenience: that it cannot be kept is one WARN.
func TestCLIProfileCannotBeKept(t *testing.T) {
	t.Parallel()
	p, log := testProfile(t)
	p.path = "/proc/no/such/place/config.toml"
	p.save("fresh")
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "GARM_CLI_PROFILE=false") || !strings.Contains(log.String(), p.path) {
		t.Errorf("log %q", log.String())
	}
}

func TestNewCLIProfile(t *testing.T) {
	t.Parallel()
	bin, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "garm-cli"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  settings.Environment
		off  bool
		want string
	}{
		"kept":                {env: settings.Environment{"PATH=" + bin, "HOME=" + home}, want: filepath.Join(home, ".local/share/garm-cli/config.toml")},
		"XDG means nothing":   {env: settings.Environment{"PATH=" + bin, "HOME=" + home, "XDG_DATA_HOME=/x"}, want: filepath.Join(home, ".local/share/garm-cli/config.toml")},
		"switched off":        {env: settings.Environment{"PATH=" + bin, "HOME=" + home}, off: true},
		"no garm-cli":         {env: settings.Environment{"PATH=" + home, "HOME=" + home}},
		"no HOME":             {env: settings.Environment{"PATH=" + bin}},
		"unwritable HOME":     {env: settings.Environment{"PATH=" + bin, "HOME=/proc"}},
		"HOME does not exist": {env: settings.Environment{"PATH=" + bin, "HOME=/nowhere"}},
	} {
		got := ""
		if p := newCLIProfile(settings.Settings{CLIProfile: !c.off}, c.env, "http://127.0.0.1:9997", nil); p != nil {
			got = p.path
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
