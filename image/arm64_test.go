package image_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// emulator runs programs for arm64; Debian's package qemu-user-static.
const emulator = "qemu-aarch64-static"

// buildARM64 builds the released binary for arm64.
func buildARM64(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath(emulator); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "garm-entrypoint")
	cmd := exec.Command("make", "-C", "..", "build", "OUT="+path, "VERSION=test")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "GOARM64=v8.0")
	if got := run(cmd); got.Code != 0 {
		t.Fatalf("cannot build for arm64: %s%s", got.Stdout, got.Stderr)
	}
	return path
}

// TestARM64 runs the main job with the binary for arm64: a first boot of the real garm (this machine's, which an
// emulated program may start), the proof by a login, the signal, and garm's exit status.
func TestARM64(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: runs garm")
	}
	binary, dir := buildARM64(t), t.TempDir()
	config := testgarm.Config(t, dir)
	p := testgarm.Start(t, emulator, []string{binary, "run"}, []string{"GARM_CONFIG=" + config, "GARM_BINARY=" + testgarm.Garm(t),
		"GARM_PASSWORD=" + testgarm.Canary, "GARM_BASE_URL=http://127.0.0.1:9997", "PATH=" + os.Getenv("PATH")})
	p.WaitFor("msg=ready", 2*time.Minute)
	if _, status := testgarm.API(t, testgarm.BaseURL(t, config)).Login("admin", testgarm.Canary); status != 200 {
		t.Errorf("login answers %d", status)
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(30 * time.Second); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want garm's 0", code)
	}
	if !strings.Contains(p.Stderr(), "signal=SIGTERM") {
		t.Errorf("the signal is not in the log: %s", p.Stderr())
	}
}

// TestARM64Status wants the statuses of a child's end, by exit and by signal.
func TestARM64Status(t *testing.T) {
	t.Parallel()
	binary := buildARM64(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 42": 42, "kill -KILL $$": 137, "kill -TERM $$": 143} {
		if got := run(exec.Command(emulator, binary, "exec", "--", "/bin/sh", "-c", script)); got.Code != want {
			t.Errorf("%s: exit code %d, want %d: %s", script, got.Code, want, got.Stderr)
		}
	}
}
