package image_test

import (
	"os"
	"os/exec"
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
	if got := run(cmd); got.Code != 0 {
		t.Fatalf("exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	c.waitReady()
	c.controllerID("admin", c.password())
	if got := c.inspect("{{.Config.StopTimeout}} {{.HostConfig.RestartPolicy.Name}}"); got != "150 unless-stopped" {
		t.Errorf("stop timeout and restart policy: %s", got)
	}
}
