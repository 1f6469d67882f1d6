package image_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/dockertest"
)

// bareTools are what a machine has on which nothing of hack/packages is installed.
var bareTools = []string{"sh", "awk", "sed", "sort", "cat", "id", "dirname", "head", "timeout", "date", "mktemp", "rm"}

// onBareMachine runs a script of hack/ where only those tools are found, and programs that stand for docker and others
// by their text.
func onBareMachine(t *testing.T, name string, programs map[string]string, args []string, variables ...string) dockertest.Result {
	t.Helper()
	bin := t.TempDir()
	for _, tool := range bareTools {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for program, text := range programs {
		_ = os.Remove(filepath.Join(bin, program))
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("../hack/"+name, args...)
	cmd.Env = append([]string{"PATH=" + bin}, variables...)
	return run(cmd)
}

// What is missing and may not be installed is named at once, all of it, with the one line to type, before anything is
// built.
func TestNeedNamesAll(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"docker": `[ "$1" = info ]`, "go": "exit 0", "id": "echo 1000", "dpkg-query": "exit 1"}
	begin := time.Now()
	got := onBareMachine(t, "need.sh", programs, []string{"run", "test"})
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v to say so", took)
	}
	want := "apt-get install -y --no-install-recommends busybox-static"
	if got.Code == 0 || !strings.Contains(got.Stderr, want) || !strings.Contains(got.Stderr, "systemd") || strings.Contains(got.Stderr, "shellcheck") {
		t.Errorf("exit code %d, want another than 0, %q, systemd and no shellcheck in: %s", got.Code, want, got.Stderr)
	}
	got = onBareMachine(t, "need.sh", map[string]string{"dpkg-query": "exit 1"}, []string{"run"}, "CI=true")
	if got.Code == 0 || !strings.Contains(got.Stderr, "cannot go on without Go 1.") || !strings.Contains(got.Stderr, "a Docker Engine that answers") {
		t.Errorf("exit code %d, want both named in: %s", got.Code, got.Stderr)
	}
}

// As root on Debian what is missing is installed, and nothing is when nothing is missing.
func TestNeedInstalls(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "apt")
	programs := map[string]string{"docker": "exit 0", "go": "exit 0", "id": "echo 0", "apt-get": `echo "$@" >>` + said,
		"dpkg-query": `for name; do :; done; [ "$name" != busybox-static ] && echo installed`}
	if got := onBareMachine(t, "need.sh", programs, []string{"run"}); got.Code != 0 {
		t.Fatalf("exit code %d: %s", got.Code, got.Stderr)
	}
	if asked, _ := os.ReadFile(said); string(asked) != "update\ninstall -y --no-install-recommends busybox-static\n" {
		t.Errorf("apt-get was asked for %q", asked)
	}
	_ = os.Remove(said)
	programs["dpkg-query"] = "echo installed"
	if got := onBareMachine(t, "need.sh", programs, []string{"run", "test", "lint"}); got.Code != 0 {
		t.Errorf("exit code %d: %s", got.Code, got.Stderr)
	}
	if asked, err := os.ReadFile(said); err == nil {
		t.Errorf("apt-get was asked for %q with nothing missing", asked)
	}
}

// Where no base image can be pulled, that is said in one line, and the stand-ins are taken; BASE decides when it is
// set.
func TestBase(t *testing.T) {
	t.Parallel()
	refuses := map[string]string{"docker": "exit 1"}
	has := map[string]string{"docker": `[ "$1" = manifest ]`}
	for name, test := range map[string]struct {
		programs map[string]string
		base     string
		want     string
		says     int
	}{
		"refused":        {refuses, "auto", "local\n", 1},
		"not said":       {refuses, "", "local\n", 1},
		"to be had":      {has, "auto", "public\n", 0},
		"public insists": {refuses, "public", "public\n", 0},
		"local asks not": {has, "local", "local\n", 0},
	} {
		got := onBareMachine(t, "base.sh", test.programs, nil, "BASE="+test.base)
		if got.Code != 0 || got.Stdout != test.want || strings.Count(got.Stderr, "\n") != test.says {
			t.Errorf("%s: exit code %d, %q, said %q", name, got.Code, got.Stdout, got.Stderr)
		}
	}
}
