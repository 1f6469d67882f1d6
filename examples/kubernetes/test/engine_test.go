package test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/internal/dockertest"
)

const (
	// ownImage and plainImage are what the manifests name. The tests run the image
	// of this tree, and the stand-in for garm's own image.
	ownImage   = "garm-entrypoint:local"
	plainImage = "ghcr.io/cloudbase/garm"

	pollStep     = 300 * time.Millisecond
	buildTimeout = 25 * time.Minute
)

var (
	imageName  = "garm-entrypoint-test-kube:" + strings.ToLower(rand.Text())
	buildImage = sync.OnceValue(func() error {
		_, err := script("../../../hack/image.sh", "BASE=local", "IMAGE="+imageName, "VERSION=test")
		return err
	})
	standIn = sync.OnceValues(func() (string, error) { return script("../../../image/standin/garm.sh") })
)

func TestMain(m *testing.M) {
	code := m.Run()
	if docker("image", "inspect", imageName).Code == 0 {
		docker("image", "rm", "--force", imageName)
	}
	os.Exit(code)
}

// script runs a script of this project, and returns what it prints.
func script(path string, env ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", path, err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// needEngine skips the test where no Docker Engine answers, and fails it in CI,
// which must have one.
func needEngine(t *testing.T) {
	t.Helper()
	dockertest.NeedEngine(t)
	if err := buildImage(); err != nil {
		t.Fatal(err)
	}
}

// realImage is what runs in place of an image that a manifest names.
func realImage(t *testing.T, name string) string {
	t.Helper()
	switch {
	case name == ownImage:
		return imageName
	case strings.HasPrefix(name, plainImage+":"):
		image, err := standIn()
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	t.Fatalf("nothing stands in for the image %s", name)
	return ""
}

// Short names for what every test here calls.
var (
	docker      = dockertest.Docker
	dockerInput = dockertest.DockerInput
	newName     = dockertest.NewName
)

type result = dockertest.Result

func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	return dockertest.Must(t, args...)
}

// eventually polls until the condition holds.
func eventually(t *testing.T, timeout time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(pollStep) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting for %s after %v", what, timeout)
		}
	}
}
