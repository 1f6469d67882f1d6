package test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
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
	if docker("image", "inspect", imageName).code == 0 {
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
	if testing.Short() {
		t.Skip("-short: needs Docker")
	}
	if got := docker("version", "--format", "{{.Server.Version}}"); got.code != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no Docker Engine answers: %s", got.stderr)
		}
		t.Skipf("no Docker Engine answers: %s", got.stderr)
	}
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

// result is what a command printed and the code it ended with.
type result struct {
	stdout, stderr string
	code           int
}

func docker(args ...string) result { return dockerInput(nil, args...) }

func dockerInput(stdin io.Reader, args ...string) result {
	cmd := exec.Command("docker", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	code := 0
	if err := cmd.Run(); err != nil {
		code = -1
		if cmd.ProcessState != nil {
			code = cmd.ProcessState.ExitCode()
		} else {
			stderr.WriteString(err.Error())
		}
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), code: code}
}

// mustDocker is docker for commands that must succeed. It returns the standard
// output without its last line end.
func mustDocker(t *testing.T, args ...string) string {
	t.Helper()
	got := docker(args...)
	if got.code != 0 {
		t.Fatalf("docker %s: exit code %d: %s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	}
	return strings.TrimSuffix(got.stdout, "\n")
}

// newName returns a name that no other test or run has.
func newName() string {
	return "garm-entrypoint-test-kube-" + strings.ToLower(rand.Text())
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
