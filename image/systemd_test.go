package image_test

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

const (
	unitFile = "../examples/systemd/garm.service"
	systemd  = "/usr/lib/systemd/systemd"
)

// TestExampleSystemd installs examples/systemd/garm.service as its head says, on a host with the real systemd: a
// container whose PID 1 is this host's, on this host's /usr. It must be active when, and only when, garm is
// initialised, stop cleanly, and not be started again when a restart cures nothing.
func TestExampleSystemd(t *testing.T) {
	t.Parallel()
	c := startSystemd(t)
	for _, command := range headerLines(t, unitFile) {
		c.mustExec("sh", "-ec", command)
	}
	if got := c.unit("ActiveState"); got != "active" {
		t.Fatalf("the unit is %s after systemctl enable --now", got)
	}
	// Its start has just returned: whoever comes after it can log in at once.
	c.mustExec("/usr/local/bin/garm-cli", "profile", "add", "--name", "test", "--url", "http://localhost:9997", "--username", "admin",
		"--password", c.mustExec("cat", "/etc/garm/admin-password"))
	if got := c.unit("StatusText"); got != "ready at http://localhost:9997" {
		t.Errorf("systemctl status says %q", got)
	}
	if got := c.mustExec("sed", "-n", "s/^Uid:\t*\\([0-9]*\\).*/\\1/p", "/proc/"+c.unit("MainPID")+"/status"); got == "" || got == "0" {
		t.Errorf("it runs as uid %q: want a dynamic user", got)
	}
	c.mustExec("systemctl", "reload", "garm")
	c.mustExec("systemctl", "restart", "garm")
	c.mustExec("systemctl", "stop", "garm")
	if got := c.unit("Result") + " " + c.unit("ExecMainStatus"); got != "success 0" {
		t.Errorf("after systemctl stop: %s, want success and garm's own 0", got)
	}

	c.slowerThanSystemd()

	c.mustExec("sh", "-c", "echo GARM_USERNAME=garm-admin >> /etc/garm/garm.env")
	if got := c.exec("systemctl", "start", "garm"); got.Code == 0 {
		t.Error("the start of what is misconfigured succeeds")
	}
	if got := c.unit("ExecMainStatus") + " " + c.unit("ActiveState") + " " + c.unit("NRestarts"); got != "78 failed 0" {
		t.Errorf("status, state and restarts are %s: want 78 and no restart", got)
	}
}

// slowerThanSystemd has garm start and stop in more time than the unit gives, and less than we do: systemd must wait.
func (c container) slowerThanSystemd() {
	c.t.Helper()
	c.mustExec("sh", "-ec", `
		printf '#!/bin/sh\nsleep 4\nexec /usr/local/bin/garm "$@"\n' > slow-garm && chmod 0755 slow-garm
		mkdir -p /run/systemd/system/garm.service.d
		printf '[Service]\nTimeoutStartSec=2\nTimeoutStopSec=2\nEnvironment=GARM_BINARY=/install/slow-garm\n' > /run/systemd/system/garm.service.d/slow.conf
		systemctl daemon-reload && systemctl start garm`)
	// A client that says nothing holds garm's stop for some 5 s.
	mustDocker(c.t, "exec", "--detach", c.name, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9997 && touch connected && sleep 60")
	testgarm.Eventually(c.t, bootTimeout, "the client's connection", func() bool { return c.exec("test", "-e", "connected").Code == 0 })
	begin := time.Now()
	c.mustExec("systemctl", "stop", "garm")
	if took := time.Since(begin); took < 2*time.Second {
		c.t.Errorf("the stop took %s: nothing was tested", took)
	}
	if got := c.unit("Result") + " " + c.unit("ExecMainStatus"); got != "success 0" {
		c.t.Errorf("after a slow stop: %s, want success and garm's own 0", got)
	}
	c.mustExec("sh", "-ec", "rm /run/systemd/system/garm.service.d/slow.conf && systemctl daemon-reload")
}

// TestExampleSystemdVerify has systemd itself read the unit.
func TestExampleSystemdVerify(t *testing.T) {
	t.Parallel()
	needSystemd(t)
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	// It looks for the program too, which is not installed here.
	unit := filepath.Join(t.TempDir(), "garm.service")
	text = bytes.ReplaceAll(text, []byte("/usr/local/bin/garm-entrypoint"), []byte("/bin/true"))
	if err := os.WriteFile(unit, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(exec.Command("systemd-analyze", "verify", "--man=no", unit)); got.Code != 0 || got.Stdout+got.Stderr != "" {
		t.Errorf("exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
}

func needSystemd(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(systemd); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no systemd here: %v", err)
	}
}

// startSystemd boots a container with systemd. Its /usr/local/bin is its own, and in its working directory lies what a
// user copies there.
func startSystemd(t *testing.T) container {
	t.Helper()
	needEngine(t)
	needSystemd(t)
	work, bin := t.TempDir(), t.TempDir()
	for name, from := range map[string]string{"garm": testgarm.Garm(t), "garm-entrypoint": testgarm.Entrypoint(t), "garm.service": unitFile} {
		copyFile(t, from, filepath.Join(work, name))
	}
	copyFile(t, testgarm.GarmCLI(t), filepath.Join(bin, "garm-cli"))

	c := container{t: t, name: newName()}
	image := importSkeleton(t)
	t.Cleanup(func() { docker("container", "rm", "--force", c.name) })
	mustDocker(t, "run", "--detach", "--name", c.name, "--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined",
		"--security-opt", "apparmor=unconfined", "--tmpfs", "/run", "--tmpfs", "/tmp", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw",
		"--volume", "/usr:/usr:ro", "--volume", bin+":/usr/local/bin", "--volume", work+":/install", "--workdir", "/install",
		"--env", "container=docker", "--env", "HOME=/root", image,
		// Credentials reach a unit by mount propagation, which systemd expects in a container and sets up on a host.
		"sh", "-c", "mount --make-rshared / && exec "+systemd)
	testgarm.Eventually(t, bootTimeout, "systemd", func() bool {
		state := c.exec("systemctl", "is-system-running").Stdout
		return strings.HasPrefix(state, "running") || strings.HasPrefix(state, "degraded")
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.exec("journalctl", "--no-pager", "--unit", "garm").Stdout)
		}
	})
	return c
}

// importSkeleton makes an image of what a Debian host has beside /usr.
func importSkeleton(t *testing.T) string {
	t.Helper()
	archive := filepath.Join(t.TempDir(), "root.tar")
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	add := func(header tar.Header, text []byte) {
		header.Size = int64(len(text))
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(text)
	}
	for _, dir := range []string{"etc/systemd/system", "proc", "sys", "dev", "run", "tmp", "usr", "var/lib", "var/log", "root", "home", "install"} {
		add(tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	for name, to := range map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64",
		"etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target"} {
		add(tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, nil)
	}
	for name, text := range map[string]string{"etc/machine-id": "", "etc/nsswitch.conf": "passwd: files systemd\ngroup: files systemd\nhosts: files\n",
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
		"etc/group":  "root:x:0:\nnogroup:x:65534:\n"} {
		add(tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, []byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, data.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	name := imageName + "-systemd"
	mustDocker(t, "import", archive, name)
	t.Cleanup(func() { docker("image", "rm", "--force", name) })
	return name
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o700); err != nil {
		t.Fatal(err)
	}
}

// unit returns a property of garm's unit.
func (c container) unit(property string) string {
	c.t.Helper()
	return c.mustExec("systemctl", "show", "--value", "--property", property, "garm")
}
