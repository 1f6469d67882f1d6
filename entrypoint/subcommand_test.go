package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// A subcommand of garm's runs as it is, on a new volume too: nothing is initialised, made or kept, none of our secrets
// is handed on, and its status is ours.
func TestSubcommandAsItIs(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for line, env := range map[string][]string{
		"admin list":                    nil,
		"version":                       {"GARM_PASSWORD=" + testgarm.Canary},
		"admin password-reset -x admin": {"GARM_PASSWORD="}, // a fault of our own configuration is no business of it
		"completion --config /none":     {"GARM_INIT=perhaps"},
	} {
		dir := t.TempDir()
		args := strings.Fields(line)
		p := testgarm.Start(t, testgarm.Entrypoint(t), append([]string{"garm"}, args...), append([]string{
			"GARM_BINARY=" + self, "GARM_CONFIG=" + dir + "/config.toml", "GARM_STATE_DIR=" + dir, "FAKE_GARM=tell 7", "KEPT=1",
		}, env...))
		if code := p.Wait(patience); code != 7 {
			t.Errorf("%s: ended with %d, want garm's own 7", line, code)
		}
		want := `args ["` + strings.Join(args, `" "`) + "\"]\n"
		if out := p.Stdout(); !strings.HasPrefix(out, want) || !strings.Contains(out, "KEPT=1\n") || !strings.Contains(out, "umask 0077\n") {
			t.Errorf("%s: garm saw %q", line, out)
		}
		if strings.Contains(p.Stdout(), "GARM_PASSWORD=") {
			t.Errorf("%s: garm has the password's variable", line)
		}
		testgarm.NoCanary(t, []*testgarm.Proc{p})
		if left := names(t, dir); left != "" || p.Stderr() != "" {
			t.Errorf("%s: wrote %q, said %q", line, left, p.Stderr())
		}
	}
}

// It is supervised: a stop signal reaches it, and what it ends with comes back.
func TestSubcommandIsSupervised(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"garm", "admin", "list"}, []string{"GARM_BINARY=" + self, "FAKE_GARM=silent"})
	childOf(t, p.Pid())
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(patience); code != 0 && code != 143 { // 143: before its handler stood
		t.Errorf("ended with %d", code)
	}
}
