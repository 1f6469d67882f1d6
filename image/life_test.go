package image_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// waitHealth waits until the engine says so of the container's health.
func (c container) waitHealth(want string) {
	c.t.Helper()
	testgarm.Eventually(c.t, bootTimeout, "the engine calls the container "+want, func() bool {
		return c.inspect("{{.State.Health.Status}}") == want
	})
}

// TestHealth follows what the engine says: starting, healthy, unhealthy while the API is dead though the process lives,
// healthy again. Only the intervals are not the image's own.
func TestHealth(t *testing.T) {
	t.Parallel()
	c := start(t, "--health-interval", "1s", "--health-timeout", "2s", "--health-retries", "2", "--health-start-period", "60s")
	if got := c.inspect("{{.State.Health.Status}}"); got != "starting" {
		t.Errorf("health is %s at the start: want starting", got)
	}
	c.waitHealth("healthy")
	if got := c.exec("garm-entrypoint", "healthcheck"); got.Code != 0 || strings.Count(got.Stdout+got.Stderr, "\n") > 1 {
		t.Errorf("docker exec … healthcheck: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	pid := c.mustExec("pidof", "garm")
	c.mustExec("kill", "-STOP", pid)
	c.waitHealth("unhealthy")
	for _, probe := range [][]string{{"healthcheck"}, {"healthcheck", "--live"}} {
		if got := c.exec(append([]string{"garm-entrypoint"}, probe...)...); got.Code != 1 || strings.Count(got.Stdout+got.Stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, want 1 and one line: %q", probe, got.Code, got.Stdout+got.Stderr)
		}
	}
	if got := c.inspect("{{.State.Running}}"); got != "true" {
		t.Error("the container has ended")
	}
	c.mustExec("kill", "-CONT", pid)
	c.waitHealth("healthy")
}

// TestPause freezes the container for longer than it watches and than it bears silence: what was frozen with it is not
// silent.
func TestPause(t *testing.T) {
	t.Parallel()
	c := startReady(t, "--env", "GARM_WATCH_INTERVAL=1s", "--env", "GARM_API_TIMEOUT=3s")
	pid := c.mustExec("pidof", "garm")
	mustDocker(t, "pause", c.name)
	time.Sleep(5 * time.Second) // what is tested is that time
	mustDocker(t, "unpause", c.name)
	look := strings.Count(c.logs(), "uri=/api/v1/controller ")
	testgarm.Eventually(t, bootTimeout, "three more looks", func() bool {
		return strings.Count(c.logs(), "uri=/api/v1/controller ") > look+3 || c.inspect("{{.State.Running}}") != "true"
	})
	if got := c.mustExec("pidof", "garm"); got != pid {
		t.Errorf("garm has pid %s after the pause: want %s", got, pid)
	}
}

// TestCrash has garm crash under a restart policy of the engine: the container ends with garm's status, is started
// again, and serves as before.
func TestCrash(t *testing.T) {
	t.Parallel()
	c := startReady(t, "--restart", "on-failure:3", "--volume", newVolume(t)+":/etc/garm")
	password := c.password()
	began := c.inspect("{{.State.StartedAt}}")
	c.mustExec("sh", "-c", "kill -KILL $(pidof garm)")
	testgarm.Eventually(t, bootTimeout, "the engine's restart", func() bool { return c.inspect("{{.State.StartedAt}}") != began })
	c.waitReady()
	c.login("admin", password)
	if got := c.inspect("{{.RestartCount}}"); got != "1" {
		t.Errorf("the engine restarted it %s times: want once", got)
	}
	if !strings.Contains(c.logs(), "status=SIGKILL") {
		t.Error("the log does not say that garm was killed")
	}
	mustDocker(t, "stop", c.name)
	if got := c.inspect("{{.State.ExitCode}} {{.State.Running}}"); got != "0 false" {
		t.Errorf("after docker stop: %s, want code 0 and no restart", got)
	}
}

// TestKill kills the whole container, in its first boot and when it serves. The next start ends in the same state.
func TestKill(t *testing.T) {
	t.Parallel()
	c := start(t, append([]string{"--volume", newVolume(t) + ":/etc/garm"}, published...)...)
	testgarm.Eventually(t, bootTimeout, "the first boot", func() bool { return strings.Contains(c.logs(), "first boot") })
	mustDocker(t, "kill", c.name)
	mustDocker(t, "start", c.name)
	c.waitReady()
	password := c.password()
	mustDocker(t, "kill", c.name)
	if code := c.inspect("{{.State.ExitCode}}"); code != "137" {
		t.Errorf("exit code %s after docker kill: want 137", code)
	}
	mustDocker(t, "start", c.name)
	c.waitReady()
	if _, status := c.api().Login("admin", password); status != http.StatusOK {
		t.Errorf("login: status %d", status)
	}
	if got := c.mustExec("ls", "-A", "/etc/garm"); strings.Contains(got, "first-boot") || strings.Contains(got, "tmp") {
		t.Errorf("left behind: %s", got)
	}
}

// TestLogLines wants one line for each event in what the log driver gets, and nothing of ours on garm's stream.
func TestLogLines(t *testing.T) {
	t.Parallel()
	c := startReady(t, append([]string{"--env", "GARM_FULL_NAME=two\nlines"}, baseURL...)...)
	mustDocker(t, "stop", c.name)
	log := docker("logs", c.name)
	for _, line := range strings.Split(strings.TrimSuffix(log.Stderr, "\n"), "\n") {
		if !regexp.MustCompile(`^time=\S+ level=(INFO|WARN|ERROR) msg=("(?:[^"\\]|\\.)*"|\S+) program=garm-entrypoint( |$)`).MatchString(line) {
			t.Errorf("no log line: %q", line)
		}
	}
	if strings.Contains(log.Stdout, "program=garm-entrypoint") {
		t.Error("a line of ours is among garm's")
	}
	for message, times := range map[string]int{"generated garm's config": 1, "generated the admin's password": 1, "first boot: ": 1,
		"first boot done": 1, "admin created": 1, "controller URLs set": 1, `"starting garm"`: 1, "garm's API is up": 2, "msg=ready": 1,
		`"stopping garm"`: 1, "garm has stopped": 2} {
		if got := strings.Count(log.Stderr, message); got != times {
			t.Errorf("%s: %d lines, want %d", message, got, times)
		}
	}
}

// TestVolumeFull gives it too little room: for its own files, for garm's database, and later, when all is served from
// what is there.
func TestVolumeFull(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ size, code, says string }{
		"for ours":   {"4k", "78", "no space left on device"},
		"for garm's": {"64k", "1", "database or disk is full|disk I/O error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, "--tmpfs", "/etc/garm:size="+test.size)
			testgarm.Eventually(t, bootTimeout, "the container's end", func() bool { return c.inspect("{{.State.Running}}") == "false" })
			if code := c.inspect("{{.State.ExitCode}}"); code != test.code || !regexp.MustCompile(test.says).MatchString(c.logs()) {
				t.Errorf("exit code %s: want %s, and a log with %q", code, test.code, test.says)
			}
		})
	}
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		c := startReady(t, "--tmpfs", "/etc/garm:size=8m", "--env", "GARM_WATCH_INTERVAL=1s")
		password := c.password()
		c.exec("dd", "if=/dev/zero", "of=/etc/garm/filler", "bs=4k")
		c.login("admin", password)
		if got := c.exec("garm-entrypoint", "healthcheck"); got.Code != 0 {
			t.Errorf("not ready on a full volume: %s", got.Stderr)
		}
		mustDocker(t, "stop", c.name)
		if code := c.inspect("{{.State.ExitCode}}"); code != "0" {
			t.Errorf("exit code %s: want garm's own, 0", code)
		}
	})
}
