package image_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script runs a script of hack/ as the Makefile does, with these variables.
func script(name string, variables ...string) result {
	cmd := exec.Command("../hack/" + name)
	cmd.Env = append(os.Environ(), variables...)
	return run(cmd)
}

// TestMakeRun runs, runs again, stops and runs once more what make run and make stop call.
func TestMakeRun(t *testing.T) {
	t.Parallel()
	c := container{t: t, name: newName()}
	vars := []string{"IMAGE=" + needImage(t), "NAME=" + c.name, "PUBLISH=" + freePort, "BASE=local"}
	t.Cleanup(func() {
		docker("container", "rm", "--force", c.name)
		docker("volume", "rm", c.name)
	})

	runAgain := func(says string) {
		t.Helper()
		got := script("run.sh", vars...)
		if got.code != 0 || !strings.Contains(got.stdout, says) {
			t.Fatalf("exit code %d: want 0 and %q in: %s%s", got.code, says, got.stdout, got.stderr)
		}
		if url := "http://" + mustDocker(t, "port", c.name, "9997/tcp"); !strings.Contains(got.stdout, url) {
			t.Errorf("%s is missing in: %s", url, got.stdout)
		}
		if got := c.exec("garm-entrypoint", "healthcheck"); got.code != 0 {
			t.Errorf("garm is not ready when run.sh ends: %s", got.stderr)
		}
	}
	runAgain("docker exec " + c.name + " cat " + passwordFile)
	id := c.controllerID("admin", c.password())
	runAgain("already runs")
	if got := script("stop.sh", vars...); got.code != 0 || docker("container", "inspect", c.name).code == 0 {
		t.Fatalf("stop: exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	runAgain("garm is ready")
	if got := c.controllerID("admin", c.password()); got != id {
		t.Errorf("controller id %s after stop and run: want %s", got, id)
	}
}

// TestMakeRunRefused has garm end instead of becoming ready: the log is shown, and the next try starts afresh.
func TestMakeRunRefused(t *testing.T) {
	t.Parallel()
	c := container{t: t, name: newName()}
	vars := []string{"IMAGE=" + needImage(t), "NAME=" + c.name, "PUBLISH=" + freePort}
	t.Cleanup(func() {
		docker("container", "rm", "--force", c.name)
		docker("volume", "rm", c.name)
	})
	for range 2 {
		got := script("run.sh", append(vars, "GARM_EMAIL=not an address")...)
		if got.code == 0 || !strings.Contains(got.stderr, "exit code 78") || !strings.Contains(got.stderr, "not an address") {
			t.Errorf("exit code %d: want the log and exit code 78 in: %s%s", got.code, got.stdout, got.stderr)
		}
	}
}

// TestMakeRunForeign leaves containers alone that make run did not make.
func TestMakeRunForeign(t *testing.T) {
	t.Parallel()
	image, name := needImage(t), newName()
	mustDocker(t, "create", "--name", name, image)
	t.Cleanup(func() { docker("container", "rm", "--force", name) })
	for _, file := range []string{"run.sh", "stop.sh"} {
		if got := script(file, "IMAGE="+image, "NAME="+name); got.code == 0 || !strings.Contains(got.stderr, "was not made by make run") {
			t.Errorf("%s: exit code %d: %s%s", file, got.code, got.stdout, got.stderr)
		}
	}
	mustDocker(t, "container", "inspect", name)
}

// TestMakeRunLocal starts what make run-local calls, in a network namespace for its fixed port, logs in, and ends it as Ctrl-C does: by SIGINT
// to the whole process group.
func TestMakeRunLocal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds and runs garm")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "garm-entrypoint")
	if got := run(exec.Command("go", "build", "-o", binary, "../entrypoint")); got.code != 0 {
		t.Fatal(got.stderr)
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--net", "sh", "-c", `busybox ip link set lo up && exec ../hack/run-local.sh "$0"`, binary)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })

	text := waitForText(t, output.Name(), "Ctrl-C", ended)
	password := regexp.MustCompile(`cat (/\S+/admin-password)`).FindStringSubmatch(text)
	if password == nil {
		t.Fatalf("where the password is was not said: %s", text)
	}
	if _, err := os.Stat(password[1]); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("ended by %v: want garm's code, 0", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("did not end within 10 s of SIGINT")
	}
	if _, err := os.Stat(filepath.Dir(password[1])); !os.IsNotExist(err) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
}

// waitForText waits until the file holds the text, and returns all that it holds then.
func waitForText(t *testing.T, file, text string, ended <-chan error) string {
	t.Helper()
	var data []byte
	eventually(t, buildTimeout, func() error {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("ended by %v: %s", err, data)
		default:
		}
		if !strings.Contains(string(data), text) {
			return fmt.Errorf("no %q in: %s", text, data)
		}
		return nil
	})
	return string(data)
}
