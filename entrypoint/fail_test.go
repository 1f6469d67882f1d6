package main

import (
	"bytes"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/settings"
)

// Each fault is a line of its own on stderr, and the code is the contract's.
func TestFailPrintsEachFault(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	a := app{stderr: &stderr, env: settings.Environment{"GARM_UMASK=x", "GARM_INIT=x", "GARM_CONFIG=/nowhere/config.toml"}}
	for _, command := range []string{cmdRun, cmdInit} {
		if code := a.run([]string{command}); code != exitConfig {
			t.Errorf("%s: exit code %d, want %d", command, code, exitConfig)
		}
	}
	stderr.Reset()
	if code := a.run([]string{"check"}); code != exitConfig {
		t.Errorf("exit code %d, want %d", code, exitConfig)
	}
	for _, line := range strings.Split(strings.TrimSpace(stderr.String()), "\n") {
		if !strings.HasPrefix(line, "garm-entrypoint: cannot ") {
			t.Errorf("line %q", line)
		}
	}
	if n := strings.Count(stderr.String(), "\n"); n != 4 { // the two, no config, no garm in an empty PATH
		t.Errorf("%d lines, want 4:\n%s", n, stderr.String())
	}
}
