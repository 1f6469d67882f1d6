package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/state"
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
	if _, err := os.Stat(filepath.Join(dir, state.MarkFile)); err == nil {
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

// An init container that is ended at any moment is started again, and then leaves what it always leaves: one admin,
// with the password that was kept.
func TestInitSpawnInterrupted(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"starts on a loopback", "trying again", "sending the first run", "the first run was answered", "logged in", "admin created", "first boot done"} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(line+" "+signal.String(), func(t *testing.T) {
				dir := t.TempDir()
				env := []string{"GARM_PASSWORD_FILE=", "GARM_LOG_LEVEL=debug", "GARM_BASE_URL=http://garm.example.com"}
				r := start(t, dir, []string{"init", "--spawn"}, env...)
				r.WaitFor(line, patience)
				begin := time.Now()
				r.Signal(signal)
				code := r.Wait(patience)
				if took := r.EndedAt().Sub(begin); took > quickStop {
					t.Errorf("took %v to stop", took)
				}
				// Done before it was told to stop, or 128+N.
				if want := 128 + int(signal); code != want && code != 0 {
					t.Errorf("ended with %d, want %d", code, want)
				}
				password := kept(t, dir)
				again := start(t, dir, []string{"init", "--spawn"}, env...)
				if code := again.Wait(patience); code != 0 {
					t.Errorf("the second ended with %d", code)
				}
				goodStart(t, dir, password)
			})
		}
	}
}

// On a database that is proven already it costs one start of garm, on loopback and without providers: no provider is
// run, and no real address listened on.
func TestInitSpawnAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	called := filepath.Join(dir, "called")
	provider := filepath.Join(dir, "provider")
	if err := os.WriteFile(provider, []byte("#!/bin/sh\necho \"$GARM_COMMAND\" >>"+called+"\necho '{}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	testgarm.Config(t, dir, func(s *testgarm.Settings) {
		s.Extra = "[[provider]]\nname = \"p\"\nprovider_type = \"external\"\n[provider.external]\nprovider_executable = \"" + provider + "\"\nconfig_file = \"" + provider + "\"\n"
	})
	var took [2]time.Duration
	for n := range took {
		begin := time.Now()
		r := start(t, dir, []string{"init", "--spawn"}, "GARM_BASE_URL=http://garm.example.com")
		if code := r.Wait(patience); code != 0 {
			t.Fatalf("run %d ended with %d", n, code)
		}
		took[n] = r.EndedAt().Sub(begin)
		if logins := strings.Count(r.Stdout(), "uri=/api/v1/auth/login"); n == 1 && logins != 1 {
			t.Errorf("%d logins, want 1", logins)
		}
		for _, more := range []string{"first-run", "method=PUT"} {
			if n == 1 && strings.Contains(r.Stdout(), more) {
				t.Errorf("the second run sent a %s", more)
			}
		}
		if strings.Contains(r.Stdout(), "Loading provider") {
			t.Errorf("run %d has a provider", n)
		}
	}
	t.Logf("the first took %v, the second %v", took[0], took[1])
	if data, err := os.ReadFile(called); err == nil {
		t.Errorf("the provider was called: %s", data)
	}
	// What shows that garm has a provider, so that its absence shows something.
	garm := testgarm.StartGarm(t, filepath.Join(dir, "config.toml"))
	garm.WaitFor("Loading provider", patience)
}
