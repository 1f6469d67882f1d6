package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What export prints, plan finds no difference to, before and without its secrets, and with no memory of the server; apply wants them.
// The sections that people carry along in config.toml are printed without a server.
func TestExportCommand(t *testing.T) {
	t.Parallel()
	dir, forge := provisionable(t)
	declare(t, dir, forge, "max_runners = 3")
	r := start(t, dir, nil, toBase)
	r.WaitFor("msg=provisioned ", patience)

	elsewhere := t.TempDir()
	call := func(want int, args ...string) string {
		t.Helper()
		p := start(t, dir, args, "GARM_LOG_FORMAT=text", "GARM_STATE_DIR="+elsewhere)
		if code := p.Wait(patience); code != want {
			t.Fatalf("%v: exit code %d, want %d:\n%s", args, code, want, p.Output())
		}
		return p.Stdout()
	}
	path := filepath.Join(elsewhere, "all.toml")
	place(t, path, call(0, "export"))
	if out := call(0, "plan", path); out != "no differences: 5 unchanged\n" { // the controller is one
		t.Errorf("plan says %q", out)
	}
	call(78, "apply", path)
	if err := os.Mkdir(filepath.Join(elsewhere, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(elsewhere, "secrets", "credentials-bot-forge-token"), forgeToken)
	if out := call(0, "apply", path); !strings.HasPrefix(out, "~ credentials bot: token changed\ncreated 0, updated 1, deleted 0, ") {
		t.Errorf("apply says %q", out)
	}
	call(0, "plan", path)
	r.stop()

	config := filepath.Join(dir, "config.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	place(t, config, string(text)+"\n[[github]]\nname = \"old\"\noauth2_token = \""+forgeToken+"\"\n")
	out := call(0, "export", "--from-config")
	if !strings.Contains(out, "token_file = \"secrets/credentials-old-github.com-token\"") || strings.Contains(out, forgeToken) {
		t.Errorf("export --from-config says %s", out)
	}
}
