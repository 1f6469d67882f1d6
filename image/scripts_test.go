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

	"garm-entrypoint/internal/testgarm"
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
		if got.Code != 0 || !strings.Contains(got.Stdout, says) {
			t.Fatalf("exit code %d: want 0 and %q in: %s%s", got.Code, says, got.Stdout, got.Stderr)
		}
		if url := "http://" + mustDocker(t, "port", c.name, "9997/tcp"); !strings.Contains(got.Stdout, url) {
			t.Errorf("%s is missing in: %s", url, got.Stdout)
		}
		if stop := "make stop NAME=" + c.name; !strings.Contains(got.Stdout, stop) {
			t.Errorf("%s is missing in: %s", stop, got.Stdout)
		}
		if got := c.exec("garm-entrypoint", "healthcheck"); got.Code != 0 {
			t.Errorf("garm is not ready when run.sh ends: %s", got.Stderr)
		}
	}
	runAgain("docker exec " + c.name + " cat " + passwordFile)
	id := c.controllerID("admin", c.password())
	runAgain("already runs")
	if got := script("stop.sh", vars...); got.Code != 0 || docker("container", "inspect", c.name).Code == 0 {
		t.Fatalf("stop: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
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
		if got.Code == 0 || !strings.Contains(got.Stderr, "exit code 78") || !strings.Contains(got.Stderr, "not an address") {
			t.Errorf("exit code %d: want the log and exit code 78 in: %s%s", got.Code, got.Stdout, got.Stderr)
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
		if got := script(file, "IMAGE="+image, "NAME="+name); got.Code == 0 || !strings.Contains(got.Stderr, "was not made by make run") {
			t.Errorf("%s: exit code %d: %s%s", file, got.Code, got.Stdout, got.Stderr)
		}
	}
	mustDocker(t, "container", "inspect", name)
}

// TestMakeRunLocal starts what make run-local calls, in a network namespace for its fixed port, logs in, and ends it as
// Ctrl-C does: by SIGINT to the whole process group.
func TestMakeRunLocal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: builds and runs garm")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	// Their modules are there then: the namespace has no network.
	testgarm.Garm(t)
	testgarm.GarmCLI(t)
	dir := t.TempDir()
	p := testgarm.Start(t, "unshare", []string{"--net", "sh", "-c",
		`busybox ip link set lo up && exec ../hack/run-local.sh "$0"`, testgarm.Entrypoint(t)}, append(os.Environ(), "TMPDIR="+dir))
	said := p.WaitFor(`password  cat /\S+`, buildTimeout)
	kept := regexp.MustCompile(`/\S+`).FindString(said)
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the password is not where the output says: %v", err)
	}
	p.WaitFor("Ctrl-C", time.Second)
	// The script is held until garm is gone: it then finds the signal and the end of its child at once, as on a busy
	// machine.
	p.Signal(syscall.SIGSTOP)
	if err := syscall.Kill(-p.Pid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	testgarm.Eventually(t, 10*time.Second, "the script's child is dead", func() bool { return onlyZombies(t, p.Pid()) })
	p.Signal(syscall.SIGCONT)
	if code := p.Wait(10 * time.Second); code != 0 {
		t.Errorf("exit code %d after SIGINT: want garm's own, 0", code)
	}
	if _, err := os.Stat(filepath.Dir(kept)); !os.IsNotExist(err) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
}

// onlyZombies is true when no child of the process lives.
func onlyZombies(t *testing.T, pid int) bool {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	for child := range strings.FieldsSeq(string(children)) {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(stat), ") Z ") {
			return false
		}
	}
	return true
}
