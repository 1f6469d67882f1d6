package image_test

import (
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// TestExampleOwnImage builds examples/own-image on the stand-in for garm's image, runs it, and logs in. It has no
// health check of its own.
func TestExampleOwnImage(t *testing.T) {
	t.Parallel()
	needImage(t)
	if err := buildBinary(); err != nil {
		t.Fatal(err)
	}
	own := imageName + "-own"
	base := mustDocker(t, "image", "inspect", "--format", `{{index .Config.Labels "org.opencontainers.image.base.name"}}`, imageName)
	mustDocker(t, "build", "--tag", own, "--build-arg", "GARM_IMAGE="+base, "--build-arg", "ENTRYPOINT_IMAGE="+binaryName, "../examples/own-image")
	t.Cleanup(func() { docker("image", "rm", "--force", own) })

	c := container{t: t, name: newName()}
	volume := newVolume(t)
	t.Cleanup(c.discard)
	mustDocker(t, "run", "--detach", "--name", c.name, "--volume", volume+":/etc/garm", own)
	c.waitReady()
	c.login("admin", c.password())
	mustDocker(t, "stop", c.name)
	if code := c.inspect("{{.State.ExitCode}}"); code != "0" {
		t.Errorf("exit code %s: want garm's own, 0", code)
	}
}

// TestExampleOwnImagePin holds the example's garm against go.mod, and the three lines of docs/own-image.md against the
// example's.
func TestExampleOwnImagePin(t *testing.T) {
	t.Parallel()
	const file = "../examples/own-image/Dockerfile"
	if got, want := find(t, file, `(?m)^ARG GARM_IMAGE=\S+:(\S+)$`), testgarm.Version(t); got != want {
		t.Errorf("%s has garm %s, go.mod pins %s", file, got, want)
	}
	onPage := find(t, "../docs/own-image.md", "(?s)```dockerfile\n(.*?)```")
	if !strings.Contains(onPage, "/garm-entrypoint /usr/local/bin/garm-entrypoint\n"+find(t, file, `(?m)^(ENTRYPOINT \S+)$`)) {
		t.Errorf("the Dockerfile of docs/own-image.md is not that of %s: %s", file, onPage)
	}
}
