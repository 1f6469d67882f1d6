package image_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// freePort lets the engine choose a port on the loopback address.
const freePort = "127.0.0.1:0"

// TestExampleDocker runs examples/docker as it stands.
func TestExampleDocker(t *testing.T) {
	t.Parallel()
	image := needImage(t)
	c := container{t: t, name: newName()}
	t.Cleanup(func() {
		docker("container", "rm", "--force", c.name)
		docker("volume", "rm", c.name)
	})
	cmd := exec.Command("../examples/docker/run.sh")
	cmd.Env = append(os.Environ(), "IMAGE="+image, "NAME="+c.name, "PUBLISH="+freePort)
	if got := run(cmd); got.code != 0 {
		t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	c.waitReady()
	c.controllerID("admin", c.password())
	if got := c.inspect("{{.Config.StopTimeout}} {{.HostConfig.RestartPolicy.Name}}"); got != "150 unless-stopped" {
		t.Errorf("stop timeout and restart policy: %s", got)
	}
}

// TestExampleCompose brings examples/compose up as it stands, with whichever Compose is there.
func TestExampleCompose(t *testing.T) {
	t.Parallel()
	image := needImage(t)
	compose := composeCommand(t)
	project := newName()
	call := func(args ...string) result {
		where := []string{"--file", "../examples/compose/docker-compose.yml", "--project-name", project}
		cmd := exec.Command(compose[0], slices.Concat(compose[1:], where, args)...)
		cmd.Env = append(os.Environ(), "IMAGE="+image, "PUBLISH="+freePort)
		return run(cmd)
	}
	t.Cleanup(func() { call("down", "--volumes") })
	if got := call("up", "-d"); got.code != 0 {
		t.Fatalf("up: exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	c := container{t: t, name: strings.TrimSpace(call("ps", "-q", "garm").stdout)}
	c.waitReady()
	c.controllerID("admin", c.password())
	if got := c.inspect("{{.Config.StopTimeout}} {{.HostConfig.RestartPolicy.Name}}"); got != "150 unless-stopped" {
		t.Errorf("stop timeout and restart policy: %s", got)
	}
}

// composeCommand returns the Compose that is there: v2 as a plugin, or 1.29. CI must have one.
func composeCommand(t *testing.T) []string {
	t.Helper()
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if run(exec.Command(command[0], slices.Concat(command[1:], []string{"version"})...)).code == 0 {
			return command
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("neither docker compose nor docker-compose is installed")
	}
	t.Skip("neither docker compose nor docker-compose is installed")
	return nil
}
