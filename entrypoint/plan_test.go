package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestMarkWithoutInitialising(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testgarm.Config(t, dir)
	put(t, filepath.Join(dir, state.MarkFile), "")
	r := start(t, dir, nil, "GARM_INIT=false", "GARM_BINARY=/bin/true")
	if code := r.Wait(patience); code != 0 || !strings.Contains(r.Stderr(), "its admin may be anybody") {
		t.Errorf("code %d, and no warning", code)
	}
	if got := names(t, dir); !strings.Contains(got, state.MarkFile) {
		t.Error("the mark was removed without a proof")
	}
}

func TestUnlistableConfigDirectory(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := testgarm.PublicDir(t)
	bin := filepath.Join(dir, "garm-entrypoint")
	data, err := os.ReadFile(testgarm.Entrypoint(t))
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	config := testgarm.Config(t, dir)
	for _, err := range []error{
		os.WriteFile(bin, data, 0o755), os.Mkdir(state, 0o700), os.Chown(state, testgarm.UserID, testgarm.UserID),
		os.Chown(config, testgarm.UserID, testgarm.UserID), os.Chmod(dir, 0o711),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, config, strings.Replace(string(text), filepath.Join(dir, "garm.db"), filepath.Join(state, "garm.db"), 1))
	p := testgarm.Start(t, "/usr/bin/setpriv", []string{"--reuid", itoa(testgarm.UserID), "--regid", itoa(testgarm.UserID), "--clear-groups", bin},
		[]string{"GARM_CONFIG=" + config, "GARM_BINARY=/bin/true", "GARM_PASSWORD=" + testgarm.Canary, "GARM_FIRST_BOOT=open"})
	if code := p.Wait(patience); code != 0 || !strings.Contains(p.Stderr(), "starting garm") {
		t.Errorf("ended with %d", code)
	}
}

func TestGuardedWithoutProc(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]int{settings.FirstBootGuarded: exitConfig, settings.FirstBootOpen: 0} {
		dir := t.TempDir()
		config := testgarm.Config(t, dir)
		script := `mount -t tmpfs none /proc && exec "$0"`
		p := testgarm.Start(t, "/usr/bin/unshare", []string{"--mount", "sh", "-c", script, testgarm.Entrypoint(t)},
			[]string{"GARM_CONFIG=" + config, "GARM_BINARY=/bin/true", "GARM_PASSWORD=" + testgarm.Canary, "GARM_FIRST_BOOT=" + mode})
		code := p.Wait(patience)
		if strings.Contains(p.Stderr(), "unshare failed") {
			t.Skip("mount namespaces cannot be made here")
		}
		if code != want || (mode == settings.FirstBootGuarded) != strings.Contains(p.Stderr(), "without /proc") {
			t.Errorf("%s: ended with %d, want %d", mode, code, want)
		}
	}
}

func TestInitCannotKeepPassword(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]string{"no such directory": "/nowhere", "read-only": "/proc/sys"} {
		p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"init"}, []string{"GARM_SERVER=http://127.0.0.1:1", "GARM_STATE_DIR=" + state, "GARM_CONFIG=/nowhere"})
		if code := p.Wait(patience); code != exitConfig || !strings.Contains(p.Stderr(), "cannot keep a generated password") {
			t.Errorf("%s: ended with %d", name, code)
		}
	}
}
