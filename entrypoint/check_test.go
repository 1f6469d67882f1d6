package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

func TestCheckAsksGarm(t *testing.T) {
	t.Parallel()
	certificate, key := testgarm.KeyPair(t, t.TempDir()+"/server")
	for name, c := range map[string]struct {
		env  string
		edit func(*testgarm.Settings)
		code int
		line string
	}{
		"good":        {"GARM_PASSWORD=" + testgarm.Canary, nil, 0, "garm's verdict: good"},
		"no password": {"GARM_PASSWORD_FILE=", nil, 0, "would be generated"},
		"TLS":         {"GARM_PASSWORD=" + testgarm.Canary, func(s *testgarm.Settings) { s.Certificate, s.Key = certificate, key }, 0, "garm's verdict: good"},
		"weak":        {"GARM_PASSWORD=Passw0rd!", nil, exitConfig, "password is too weak"},
		"provider": {"GARM_PASSWORD=" + testgarm.Canary, func(s *testgarm.Settings) {
			s.Extra = "[[provider]]\nname = \"x\"\nprovider_type = \"external\"\n[provider.external]\nconfig_file = \"/none\"\nprovider_executable = \"/none\""
		}, exitConfig, `provider "x": external.provider_executable /none: no such file or directory`},
		"provider that cannot work": {"GARM_PASSWORD=" + testgarm.Canary, func(s *testgarm.Settings) {
			s.Extra = "[[provider]]\nname = \"x\"\nprovider_type = \"external\"\n[provider.external]\nprovider_executable = \"/tmp\""
		}, 0, `provider "x": external.provider_executable /tmp is no file: garm starts, and each call`},
		"found by garm alone": {"GARM_PASSWORD=" + testgarm.Canary, func(s *testgarm.Settings) { s.Extra = "[[github]]\nname = \"x\"" },
			exitConfig, "garm ends with exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			edits := []func(*testgarm.Settings){}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			config := testgarm.Config(t, dir, edits...)
			p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"}, []string{"GARM_CONFIG=" + config, "GARM_BINARY=" + testgarm.Garm(t), c.env})
			if code := p.Wait(patience); code != c.code || !strings.Contains(p.Output(), c.line) {
				t.Errorf("code %d, want %d and %q", code, c.code, c.line)
			}
			testgarm.NoCanary(t, []*testgarm.Proc{p})
			if entries, _ := os.ReadDir(dir); len(entries) != 1 {
				t.Errorf("something was left: %v", entries)
			}
		})
	}
}

// What would keep garm from listening is a warning: it may be the garm that is to be started again, or the address of a
// pod to come.
func TestCheckWarnsOfTheAddress(t *testing.T) {
	t.Parallel()
	taken := testgarm.FreePort(t)
	l, err := net.Listen("tcp", "127.0.0.1:"+itoa(taken))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for want, edit := range map[string]func(*testgarm.Settings){
		"warning: somebody listens on 127.0.0.1:" + itoa(taken): func(s *testgarm.Settings) { s.Port = taken },
		"warning: somebody listens on 0.0.0.0:" + itoa(taken):   func(s *testgarm.Settings) { s.Port, s.Bind = taken, "0.0.0.0" },
		"warning: garm could not listen on 192.0.2.1:":          func(s *testgarm.Settings) { s.Bind = "192.0.2.1" },
	} {
		config := testgarm.Config(t, t.TempDir(), edit)
		p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"}, []string{"GARM_CONFIG=" + config, "GARM_BINARY=" + testgarm.Garm(t)})
		if code := p.Wait(patience); code != 0 || !strings.Contains(p.Stdout(), want) {
			t.Errorf("code %d, want 0 and %q", code, want)
		}
	}
}

// A check that was killed leaves its directory behind, and a later one removes it; one that is under way keeps its own.
func TestCheckRemovesStaleTrials(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	stale, fresh := filepath.Join(tmp, ".garm-entrypoint-trial-1"), filepath.Join(tmp, ".garm-entrypoint-trial-2")
	for _, dir := range []string{stale, fresh} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "garm.db"), "x")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"}, []string{"GARM_CONFIG=" + testgarm.Config(t, t.TempDir()), "GARM_BINARY=" + testgarm.Garm(t), "TMPDIR=" + tmp})
	if code := p.Wait(patience); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if got := names(t, tmp); got != ".garm-entrypoint-trial-2" {
		t.Errorf("left: %s", got)
	}
}

// Whatever is wrong, check ends with 78: a script need not know more.
func TestCheckWithoutGarm(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir(), func(s *testgarm.Settings) { s.Bind = "localhost" })
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"}, []string{"GARM_CONFIG=" + config, "GARM_BINARY=no-such-garm"})
	if code := p.Wait(patience); code != exitConfig || !strings.Contains(p.Stderr(), "no-such-garm") || !strings.Contains(p.Stderr(), "apiserver.bind") {
		t.Errorf("code %d, want %d and both faults", code, exitConfig)
	}
}
