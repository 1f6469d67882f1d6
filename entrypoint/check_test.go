package main

import (
	"os"
	"strings"
	"testing"

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
		}, exitConfig, "garm ends with exit status 1"},
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
