package image_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/internal/dockertest"
	"garm-entrypoint/internal/testgarm"
)

// What the tests run is built once, under names of this run's own, and removed at the end. The stand-in base images
// stay: they are keyed by what they are made of, and take minutes to make.
var (
	imageName  = "garm-entrypoint-test:" + rand.Text()
	binaryName = imageName + "-binary"

	buildImage  = sync.OnceValue(func() error { return build(imageName, "") })
	buildBinary = sync.OnceValue(func() error { return build(binaryName, "binary") })
)

const (
	// bootTimeout bounds one start of a container until garm is ready: two starts of garm on a slow storage driver.
	bootTimeout = 2 * time.Minute

	buildTimeout = 25 * time.Minute
)

func TestMain(m *testing.M) {
	code := m.Run()
	for _, name := range []string{imageName, binaryName} {
		if docker("image", "inspect", name).Code == 0 {
			docker("image", "rm", "--force", name)
		}
	}
	os.Exit(code)
}

// needImage makes sure that the engine has the image of this tree, and returns its name.
func needImage(t *testing.T) string {
	t.Helper()
	needEngine(t)
	if err := buildImage(); err != nil {
		t.Fatal(err)
	}
	return imageName
}

// build builds the Dockerfile's target on the stand-in base images. The image is version "test".
func build(name, target string) error {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../hack/image.sh")
	cmd.Env = append(os.Environ(), "BASE=local", "IMAGE="+name, "TARGET="+target, "VERSION=test")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the image: %w\n%s", err, out)
	}
	return nil
}

// Short names for what every test here calls.
var (
	docker  = dockertest.Docker
	newName = dockertest.NewName
	run     = dockertest.Run
)

type result = dockertest.Result

func needEngine(t *testing.T) {
	t.Helper()
	dockertest.NeedEngine(t)
}

func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	return dockertest.Must(t, args...)
}

// newVolume makes a fresh named volume.
func newVolume(t *testing.T) string {
	t.Helper()
	name := newName()
	mustDocker(t, "volume", "create", name)
	t.Cleanup(func() {
		if got := docker("volume", "rm", name); got.Code != 0 {
			t.Errorf("cannot remove the volume: %s", got.Stderr)
		}
	})
	return name
}

// container is a running container of the image.
type container struct {
	t    *testing.T
	name string
}

// start runs the image in the background, with these flags for docker run. When the test fails, its log is shown.
func start(t *testing.T, flags ...string) container {
	t.Helper()
	image := needImage(t)
	c := container{t: t, name: newName()}
	t.Cleanup(c.discard)
	args := append([]string{"run", "--detach", "--name", c.name}, flags...)
	mustDocker(t, append(args, image)...)
	return c
}

// startReady starts a container and waits until it is ready.
func startReady(t *testing.T, flags ...string) container {
	t.Helper()
	c := start(t, flags...)
	c.waitReady()
	return c
}

// discard removes the container at the end of its test, and shows its log when that failed.
func (c container) discard() {
	if c.t.Failed() {
		c.t.Logf("log of %s:\n%s", c.name, c.logs())
	}
	docker("container", "rm", "--force", c.name)
}

// remove removes the container, so that its volume can go to another one.
func (c container) remove() {
	c.t.Helper()
	mustDocker(c.t, "container", "rm", "--force", c.name)
}

// exec runs a command in the container.
func (c container) exec(args ...string) result {
	return docker(append([]string{"exec", c.name}, args...)...)
}

// mustExec is exec for commands that must succeed.
func (c container) mustExec(args ...string) string {
	c.t.Helper()
	return mustDocker(c.t, append([]string{"exec", c.name}, args...)...)
}

// inspect returns a field of the container by its template.
func (c container) inspect(template string) string {
	c.t.Helper()
	return mustDocker(c.t, "container", "inspect", "--format", template, c.name)
}

// logs returns both streams of the container's log.
func (c container) logs() string {
	got := docker("logs", c.name)
	return got.Stdout + got.Stderr
}

// waitReady asks the health check until garm is ready.
func (c container) waitReady() {
	c.t.Helper()
	testgarm.Eventually(c.t, bootTimeout, "garm in container "+c.name+" is ready", func() bool {
		if c.exec("/usr/local/bin/garm-entrypoint", "healthcheck").Code == 0 {
			return true
		}
		if status := c.inspect("{{.State.Status}}"); status != "running" {
			c.t.Fatalf("the container is %s, exit code %s, instead of ready", status, c.inspect("{{.State.ExitCode}}"))
		}
		return false
	})
}
