package image_test

import (
	"strconv"
	"strings"
	"testing"

	"garm-entrypoint/supervisor"
)

// TestHardened starts the image in the places where a container is kept short, and wants a ready server and garm's own
// code at the end. All of it runs under the engine's default seccomp profile.
func TestHardened(t *testing.T) {
	t.Parallel()
	tight := []string{"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}
	for name, flags := range map[string][]string{
		"read-only, root":          tight,
		"read-only, non-root":      append([]string{"--user", "65532:65532"}, tight...),
		"read-only, arbitrary uid": append([]string{"--user", "1000680000"}, tight...),
		"an init already there":    {"--init"},
		"no network":               {"--network", "none"},
		"few processes":            {"--pids-limit", strconv.Itoa(supervisor.MinPids + garmThreads)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startReady(t, append(flags, "--volume", newVolume(t)+":/etc/garm")...)
			mustDocker(t, "stop", "--time", "20", c.name)
			if code := c.inspect("{{.State.ExitCode}}"); code != "0" {
				t.Errorf("exit code %s, want garm's 0", code)
			}
			if log := c.logs(); strings.Contains(log, `msg="cannot`) {
				t.Error("something could not be done")
			}
		})
	}
}

// garmThreads is what garm itself needs beside MinPids, the health check in the container included: two Go programs of
// some 15 threads.
const garmThreads = 40
