package image_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

const passwordFile = "/etc/garm/admin-password"

// baseURL is for the tests that look at the controller: garm-cli shows none that lacks its URLs.
var baseURL = []string{"--env", "GARM_BASE_URL=https://garm.example.com"}

// login logs in with garm-cli in the container, and returns the command for what is to be done there. Its profile is
// apart from the one that the entrypoint keeps.
func (c container) login(username, password string) []string {
	c.t.Helper()
	home := "/tmp/" + newName()
	c.mustExec("mkdir", "-m", "0700", home)
	cli := []string{"env", "HOME=" + home, "garm-cli"}
	c.mustExec(append(cli, "profile", "add", "--name", "test", "--url", "http://127.0.0.1:9997",
		"--username", username, "--password", password)...)
	return cli
}

// controllerID logs in and returns the id of the controller, which garm makes anew with every new database.
func (c container) controllerID(username, password string) string {
	c.t.Helper()
	var controller struct {
		ID string `json:"controller_id"`
	}
	shown := c.mustExec(append(c.login(username, password), "controller", "show", "--format", "json")...)
	if err := json.Unmarshal([]byte(shown), &controller); err != nil || controller.ID == "" {
		c.t.Fatalf("garm-cli controller show: no controller id (%v) in %s", err, shown)
	}
	return controller.ID
}

// password returns the generated password.
func (c container) password() string {
	c.t.Helper()
	return c.mustExec("cat", passwordFile)
}

// TestConfig holds what the image promises to the engine.
func TestConfig(t *testing.T) {
	t.Parallel()
	var config struct {
		User, StopSignal string
		Volumes          map[string]any
		ExposedPorts     map[string]any
		Entrypoint, Cmd  []string
		Labels           map[string]string
		Healthcheck      struct {
			Test                           []string
			Interval, Timeout, StartPeriod time.Duration
		}
	}
	if err := json.Unmarshal([]byte(mustDocker(t, "image", "inspect", "--format", "{{json .Config}}", needImage(t))), &config); err != nil {
		t.Fatal(err)
	}
	if config.User != "" || len(config.Volumes) != 0 {
		t.Errorf("User %q, Volumes %v: want none, as upstream", config.User, config.Volumes)
	}
	if _, ok := config.ExposedPorts["9997/tcp"]; !ok || len(config.ExposedPorts) != 1 {
		t.Errorf("ExposedPorts %v: want 9997/tcp", config.ExposedPorts)
	}
	if want := []string{"/usr/local/bin/garm-entrypoint"}; !slices.Equal(config.Entrypoint, want) || len(config.Cmd) != 0 {
		t.Errorf("Entrypoint %q, Cmd %q: want %q and none", config.Entrypoint, config.Cmd, want)
	}
	if config.StopSignal != "SIGTERM" {
		t.Errorf("StopSignal %q: want SIGTERM", config.StopSignal)
	}
	// No shell: the check must work where garm's image has none.
	if want := []string{"CMD", "/usr/local/bin/garm-entrypoint", "healthcheck"}; !slices.Equal(config.Healthcheck.Test, want) {
		t.Errorf("Healthcheck %q: want %q", config.Healthcheck.Test, want)
	}
	if config.Healthcheck.StartPeriod < 5*time.Minute || config.Healthcheck.Timeout >= config.Healthcheck.Interval {
		t.Errorf("Healthcheck %+v: want a start period beyond GARM_START_TIMEOUT, a timeout below the interval", config.Healthcheck)
	}
	for label, want := range map[string]string{
		"org.opencontainers.image.title":       `^garm-entrypoint$`,
		"org.opencontainers.image.description": `garm`,
		"org.opencontainers.image.licenses":    `^Apache-2\.0$`,
		"org.opencontainers.image.version":     `^test$`,
		"org.opencontainers.image.base.name":   `garm`,
		"garm.version":                         `^` + regexp.QuoteMeta(testgarm.Version(t)) + `$`,
	} {
		if !regexp.MustCompile(want).MatchString(config.Labels[label]) {
			t.Errorf("label %s is %q: want %s", label, config.Labels[label], want)
		}
	}
}

// TestFirstStart is the main job: an empty volume, no settings at all, and garm is initialised with a generated
// password.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	c := startReady(t, "--volume", newVolume(t)+":/etc/garm")
	password := c.password()
	if strings.TrimSpace(password) == "" {
		t.Fatal("the password file is empty")
	}
	c.login("admin", password)
	if strings.Contains(c.logs(), password) {
		t.Error("the generated password is in the log")
	}
	if !strings.Contains(c.logs(), passwordFile) {
		t.Errorf("the log does not say where the password is")
	}
	if got := c.mustExec("stat", "-c", "%a", passwordFile); got != "600" {
		t.Errorf("%s has mode %s: want 600", passwordFile, got)
	}
}

// TestRestart restarts the container and then runs a new one on its volume: same password, same controller.
func TestRestart(t *testing.T) {
	t.Parallel()
	flags := append([]string{"--volume", newVolume(t) + ":/etc/garm"}, baseURL...)
	c := startReady(t, flags...)
	password := c.password()
	id := c.controllerID("admin", password)

	mustDocker(t, "restart", c.name)
	c.waitReady()
	if got := c.controllerID("admin", password); got != id {
		t.Errorf("controller id %s after a restart: want %s", got, id)
	}
	c.remove()

	c = startReady(t, flags...)
	if got := c.password(); got != password {
		t.Error("a new container on the volume has another password file")
	}
	if got := c.controllerID("admin", password); got != id {
		t.Errorf("controller id %s in a new container: want %s", got, id)
	}
}

// TestStop stops a ready server: garm's own code, in far less than the engine's grace.
func TestStop(t *testing.T) {
	t.Parallel()
	c := startReady(t)
	begin := time.Now()
	mustDocker(t, "stop", c.name)
	if took := time.Since(begin); took >= 5*time.Second { // half a second on a machine with nothing else to do; killed: 10 s
		t.Errorf("docker stop took %s", took)
	}
	if code := c.inspect("{{.State.ExitCode}}"); code != "0" {
		t.Errorf("exit code %s: want garm's own, 0", code)
	}
}

// TestHangup sends SIGHUP, by which garm rotates its log: it must go on.
func TestHangup(t *testing.T) {
	t.Parallel()
	c := startReady(t)
	before := c.mustExec("pidof", "garm")
	mustDocker(t, "kill", "--signal", "HUP", c.name)
	c.waitReady()
	if after := c.mustExec("pidof", "garm"); after != before {
		t.Errorf("garm has pid %s after SIGHUP: want %s", after, before)
	}
}

// TestCommand runs other things than the server, as people do with docker run.
func TestCommand(t *testing.T) {
	t.Parallel()
	image := needImage(t)
	tests := map[string]struct {
		args   []string
		stdout string
		code   int
	}{
		"shell":             {[]string{"sh", "-c", "echo out; exit 7"}, `^out\n$`, 7},
		"killed":            {[]string{"sh", "-c", "kill -KILL $$"}, `^$`, 137},
		"not found":         {[]string{"no-such-program"}, `^$`, 127},
		"not executable":    {[]string{"/etc/passwd"}, `^$`, 126},
		"exec":              {[]string{"exec", "--", "version-like", "x"}, `^$`, 127},
		"garm's version":    {[]string{"-version"}, `^` + regexp.QuoteMeta(testgarm.Version(t)) + `\n$`, 0},
		"garm's --version":  {[]string{"--version"}, `^` + regexp.QuoteMeta(testgarm.Version(t)) + `\n$`, 0},
		"garm-cli":          {[]string{"garm-cli", "version"}, regexp.QuoteMeta(testgarm.Version(t)), 0},
		"our version":       {[]string{"version"}, `test`, 0},
		"environment":       {[]string{"sh", "-c", "echo $GARM_PASSWORD"}, `^kept\n$`, 0},
		"nothing is served": {[]string{"ls", "/etc/garm"}, `^$`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := docker(append([]string{"run", "--rm", "--env", "GARM_PASSWORD=kept", image}, test.args...)...)
			if got.Code != test.code || !regexp.MustCompile(test.stdout).MatchString(got.Stdout) {
				t.Errorf("exit code %d, stdout %q, stderr %q: want code %d, stdout %s", got.Code, got.Stdout, got.Stderr, test.code, test.stdout)
			}
		})
	}
}

// TestSecret gives a password that must be found nowhere but in the environment of the container's first process, which
// nobody in the container can read: not garm, not its providers, not root with the engine's default capabilities
// (CAP_SYS_PTRACE is not one of them).
func TestSecret(t *testing.T) {
	t.Parallel()
	const canary = "canary-Nq7$'\"\\ %x-7Hc2"
	c := startReady(t, "--env", "GARM_PASSWORD="+canary, "--env", "DEBUG=1", "--env", "SWAGGER_DEBUG=1")
	c.login("admin", canary)

	if strings.Contains(c.logs(), canary) {
		t.Error("the password is in the log")
	}
	pid := c.mustExec("pidof", "garm")
	for _, file := range []string{"environ", "cmdline"} {
		if text := c.mustExec("cat", fmt.Sprintf("/proc/%s/%s", pid, file)); strings.Contains(text, canary) {
			t.Errorf("the password is in garm's %s", file)
		} else if text == "" {
			t.Errorf("garm's %s is empty: nothing was tested", file)
		}
	}
	if got := c.exec("cat", "/proc/1/environ"); got.Code == 0 {
		t.Errorf("/proc/1/environ can be read, with the password in it: %t", strings.Contains(got.Stdout, canary))
	}
	if got := c.exec("test", "-e", passwordFile); got.Code == 0 {
		t.Error("there is a password file, though a password was given")
	}
}

// TestUser runs the image as the users that people and platforms choose, each on a fresh named volume.
func TestUser(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"root without capabilities":   {"--cap-drop", "ALL", "--security-opt", "no-new-privileges"},
		"non-root":                    {"--user", "65532:65532"},
		"arbitrary uid":               {"--user", "1000680000"},
		"arbitrary uid, no privilege": {"--user", "1000680000:0", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"},
	}
	for name, flags := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startReady(t, append(flags, "--volume", newVolume(t)+":/etc/garm")...)
			c.login("admin", c.password())
			if got := c.exec("cat", "/proc/1/environ"); got.Code == 0 {
				t.Error("/proc/1/environ can be read by garm's own user")
			}
		})
	}
}
