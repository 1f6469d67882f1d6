package sigtrap_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// build makes the program that is tested: the test binary itself would be too late with its signals, and must keep its
// own.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "early")
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/early").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// start runs the program as PID 1, with a trace of its package initialisation on stderr, until package sigtrap is
// through.
func start(t *testing.T, path string) (cmd *exec.Cmd, stdout *strings.Builder) {
	t.Helper()
	cmd, stdout = exec.Command(path), &strings.Builder{}
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	cmd.Stdout = stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("cannot make a PID namespace here, so there is no PID 1 to test: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	scanner := bufio.NewScanner(stderr)
	for scanner.Scan() {
		_, name, _ := strings.Cut(scanner.Text(), "init ")
		name, _, _ = strings.Cut(name, " ")
		if strings.HasSuffix(name, "/sigtrap") {
			go func() {
				for scanner.Scan() { // the rest, or it would block
				}
			}()
			return cmd, stdout
		}
		if domain, _, found := strings.Cut(name, "/"); found && strings.Contains(domain, ".") {
			t.Fatalf("%s is initialised before us", name)
		}
	}
	t.Fatal("no trace of us")
	return nil, nil
}

// The signals are taken before any package of another module is initialised, and so before those of the API client.
// From then on, while those are still being initialised, SIGTERM is answered by the program and never by the runtime,
// with status 2.
func TestInitialisedFirst(t *testing.T) {
	path := build(t)
	for range 20 {
		cmd, stdout := start(t, path)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || stdout.String() != "main\nterminated\n" {
			t.Fatalf("%v: %s", err, stdout)
		}
	}
}
