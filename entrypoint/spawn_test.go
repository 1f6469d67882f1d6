package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// An init container leaves an initialised database behind, for a plain garm.
func TestInitSpawn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range 2 {
		r := start(t, dir, []string{"init", "--spawn"}, "GARM_BASE_URL=http://garm.example.com")
		if code := r.Wait(patience); code != 0 {
			t.Fatalf("run %d ended with %d", n, code)
		}
		if created := strings.Contains(r.Stderr(), "admin created"); created != (n == 0) {
			t.Errorf("run %d: admin created: %v", n, created)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, markFile)); err == nil {
		t.Error("the mark lies")
	}
	config := filepath.Join(dir, "config.toml")
	garm := testgarm.StartGarm(t, config)
	r := &run{Proc: garm, t: t, dir: dir, config: config}
	if c := r.proven(testgarm.Canary); c.MetadataURL != "http://garm.example.com/api/v1/metadata" {
		t.Errorf("controller %+v", c)
	}
	garm.Signal(syscall.SIGTERM)
	garm.Wait(patience)
	// Credentials that do not fit an old database do not keep the pod down.
	other := start(t, dir, []string{"init", "--spawn"}, "GARM_PASSWORD=another-kX9#mQ2$")
	if code := other.Wait(patience); code != 0 || strings.Count(other.Stderr(), "level=WARN") != 1 {
		t.Errorf("ended with %d, want 0 and one WARN", code)
	}
	// A weak password does, on a new one.
	weak := start(t, t.TempDir(), []string{"init", "--spawn"}, "GARM_PASSWORD=weak")
	if code := weak.Wait(patience); code != exitConfig {
		t.Errorf("ended with %d, want %d", code, exitConfig)
	}
}
