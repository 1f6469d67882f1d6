package dockertest

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Result is what a command printed and the code it ended with; -1: it could not be run at all, or a signal ended it.
type Result struct {
	Stdout, Stderr string
	Code           int
}

// Run runs a command to its end.
func Run(cmd *exec.Cmd) Result {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code := 0
	if err := cmd.Run(); err != nil {
		code = -1
		if cmd.ProcessState != nil {
			code = cmd.ProcessState.ExitCode()
		} else {
			stderr.WriteString(err.Error())
		}
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), Code: code}
}

// Docker runs the docker command line.
func Docker(args ...string) Result { return DockerInput(nil, args...) }

// DockerInput is Docker with a standard input; nil: none.
func DockerInput(stdin io.Reader, args ...string) Result {
	cmd := exec.Command("docker", args...)
	cmd.Stdin = stdin
	return Run(cmd)
}

// Must is Docker for commands that must succeed. It returns the standard output without its last line end.
func Must(t testing.TB, args ...string) string {
	t.Helper()
	got := Docker(args...)
	if got.Code != 0 {
		t.Fatalf("docker %s: exit code %d: %s%s", strings.Join(args, " "), got.Code, got.Stdout, got.Stderr)
	}
	return strings.TrimSuffix(got.Stdout, "\n")
}

// NewName returns a name that no other test or run has.
func NewName() string { return "garm-entrypoint-test-" + strings.ToLower(rand.Text()) }

// NeedEngine skips the test where no Docker Engine answers, and fails it in CI, which must have one.
func NeedEngine(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs Docker")
	}
	if got := Docker("version", "--format", "{{.Server.Version}}"); got.Code != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no Docker Engine answers: %s", got.Stderr)
		}
		t.Skipf("no Docker Engine answers: %s", got.Stderr)
	}
}
