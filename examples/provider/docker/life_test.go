package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/dockertest"
	"garm-entrypoint/internal/testgarm"

	"github.com/cloudbase/garm-provider-common/params"
)

// garm is what starts the provider: a controller of that id.
type garm struct {
	t                        *testing.T
	program, config, image   string
	controller, pool, prefix string
}

// newGarm builds the provider and an image of busybox alone whose act_runner waits for a job for ever.
func newGarm(t *testing.T, config string) garm {
	t.Helper()
	dockertest.NeedEngine(t)
	dir := t.TempDir()
	g := garm{t: t, program: filepath.Join(dir, "provider"), config: filepath.Join(dir, "config.toml"),
		controller: dockertest.NewName(), pool: "pool", prefix: dockertest.NewName()}
	build := exec.Command("go", "build", "-o", g.program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the provider: %v\n%s", err, out)
	}
	if err := os.WriteFile(g.config, []byte("pull = \"never\"\nnetwork = \"none\"\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	g.image = emptyImage(t)
	t.Cleanup(func() { g.run("RemoveAllInstances", "", nil) })
	return g
}

// emptyImage is an image with one directory. The runner in it says that there is no act_runner, to a garm that it
// cannot reach, for a minute.
func emptyImage(t *testing.T) string {
	t.Helper()
	name := dockertest.NewName() + ":test"
	archive := exec.Command("tar", "-C", t.TempDir(), "-c", ".")
	load := exec.Command("docker", "import", "-", name)
	var err error
	if load.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Start(); err != nil {
		t.Fatal(err)
	}
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("docker import: %v: %s", err, out)
	}
	_ = archive.Wait()
	t.Cleanup(func() { dockertest.Docker("image", "rm", "--force", name) })
	return name
}

// run starts the provider as garm does, in an environment without PATH.
func (g garm) run(command, instance string, bootstrap *params.BootstrapInstance) (string, int) {
	g.t.Helper()
	cmd := g.command(command, instance, bootstrap)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stderr.String(), cmd.ProcessState.ExitCode()
	}
	return stdout.String(), 0
}

func (g garm) command(command, instance string, bootstrap *params.BootstrapInstance) *exec.Cmd {
	cmd := exec.Command(g.program)
	cmd.Env = []string{"GARM_COMMAND=" + command, "GARM_CONTROLLER_ID=" + g.controller, "GARM_POOL_ID=" + g.pool,
		"GARM_PROVIDER_CONFIG_FILE=" + g.config, "GARM_INSTANCE_ID=" + instance, "GARM_INTERFACE_VERSION=v0.1.0"}
	if bootstrap != nil {
		data, err := json.Marshal(bootstrap)
		if err != nil {
			g.t.Fatal(err)
		}
		cmd.Stdin = bytes.NewReader(data)
	}
	return cmd
}

func (g garm) instance(number int) *params.BootstrapInstance {
	return &params.BootstrapInstance{Name: fmt.Sprintf("%s-%d", g.prefix, number), PoolID: g.pool, Image: g.image, Flavor: "default",
		OSType: params.Linux, OSArch: params.Amd64, InstanceToken: "instance-token", CallbackURL: "http://127.0.0.1:1/status",
		MetadataURL: "http://127.0.0.1:1/metadata"}
}

// create makes an instance, and wants it to run.
func (g garm) create(number int) string {
	g.t.Helper()
	b := g.instance(number)
	said, code := g.run("CreateInstance", "", b)
	var made params.ProviderInstance
	if code != 0 || json.Unmarshal([]byte(said), &made) != nil {
		g.t.Fatalf("CreateInstance: exit code %d: %s", code, said)
	}
	want := params.ProviderInstance{ProviderID: b.Name, Name: b.Name, OSType: params.Linux, OSArch: params.Amd64, Status: params.InstanceRunning}
	if made.Addresses = nil; fmt.Sprint(made) != fmt.Sprint(want) {
		g.t.Errorf("CreateInstance: %+v, want %+v", made, want)
	}
	return b.Name
}

// names are the pool's instances by ListInstances.
func (g garm) names() string {
	g.t.Helper()
	said, code := g.run("ListInstances", "", nil)
	var list []params.ProviderInstance
	if code != 0 || json.Unmarshal([]byte(said), &list) != nil {
		g.t.Fatalf("ListInstances: exit code %d: %s", code, said)
	}
	names := []string{}
	for _, instance := range list {
		names = append(names, instance.Name)
	}
	return strings.Join(names, " ")
}

// exists says whether the engine has a container, in whatever state.
func exists(name string) bool { return dockertest.Docker("container", "inspect", name).Code == 0 }

func (g garm) mustRun(want int, command, instance string) string {
	g.t.Helper()
	said, code := g.run(command, instance, nil)
	if code != want {
		g.t.Errorf("%s %s: exit code %d, want %d: %s", command, instance, code, want, said)
	}
	return said
}

// One instance's life, each step by a process of its own: what is known is in the engine.
func TestLife(t *testing.T) {
	t.Parallel()
	g := newGarm(t, "")
	name := g.create(1)
	if said := dockertest.Must(t, "container", "inspect", name); strings.Contains(said, "instance-token") {
		t.Error("docker inspect shows the instance's token")
	}
	if said, code := g.run("CreateInstance", "", g.instance(1)); code != 31 {
		t.Errorf("the same instance again: exit code %d: %s", code, said)
	}
	if got := g.names(); got != name {
		t.Errorf("ListInstances: %q, want %q", got, name)
	}
	if said := g.mustRun(0, "GetInstance", name); !strings.Contains(said, `"status":"running"`) {
		t.Errorf("GetInstance: %s", said)
	}
	other := g
	other.controller, other.t = dockertest.NewName(), t
	other.mustRun(30, "GetInstance", name)
	other.mustRun(0, "DeleteInstance", name)
	other.mustRun(0, "RemoveAllInstances", "")
	if got := other.names(); got != "" || !exists(name) {
		t.Errorf("another controller sees %q, or deleted what is not its own", got)
	}
	g.mustRun(0, "DeleteInstance", name)
	if exists(name) {
		t.Error("a deleted instance exists")
	}
	g.mustRun(0, "DeleteInstance", name)
	g.mustRun(30, "GetInstance", name)
	if said, code := g.run("CreateInstance", "", &params.BootstrapInstance{Name: g.prefix, PoolID: g.pool, Image: g.image, Flavor: "huge"}); code != 1 ||
		!strings.Contains(said, `no flavor "huge"`) {
		t.Errorf("an unknown flavor: exit code %d: %s", code, said)
	}
}

// An instance that has ended is not listed, lest garm start it again, and leaves nothing.
func TestEnded(t *testing.T) {
	t.Parallel()
	g := newGarm(t, "")
	ended, other := g.create(1), g.create(2)
	dockertest.Must(t, "kill", ended)
	testgarm.Eventually(t, time.Minute, "the container's end", func() bool {
		return dockertest.Must(t, "inspect", "--format", "{{.State.Status}}", ended) == "exited"
	})
	if got := g.names(); got != other || exists(ended) {
		t.Errorf("ListInstances: %q, want %q, and nothing of %s", got, other, ended)
	}
}

// A stop of garm kills the provider in mid-flight, at whatever point: what garm does at its next start, deleting by the
// name, leaves nothing.
func TestKilledMidFlight(t *testing.T) {
	t.Parallel()
	g := newGarm(t, "")
	made := 0
	for i := range 12 {
		b := g.instance(i)
		cmd := g.command("CreateInstance", "", b)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(i)*60*time.Millisecond, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		timer.Stop()
		if exists(b.Name) {
			made++
		}
		g.mustRun(0, "DeleteInstance", b.Name)
	}
	// An engine that is overloaded may finish a creation even after that: then the next list shows it, and it is deleted.
	testgarm.Eventually(t, time.Minute, "nothing is left over", func() bool {
		for name := range strings.FieldsSeq(g.names()) {
			g.mustRun(0, "DeleteInstance", name)
		}
		return dockertest.Must(t, "ps", "-aq", "--filter", "label=garm.controller="+g.controller) == ""
	})
	t.Logf("%d of 12 were there when the provider died", made)
}

// A garm whose database was lost is another controller. It ends the runners of the one before by their owner: asks
// them, then removes them.
func TestLostController(t *testing.T) {
	t.Parallel()
	owner := dockertest.NewName()
	before := newGarm(t, fmt.Sprintf("owner = %q\n", owner))
	lost, foreign := before.create(1), newGarm(t, "owner = \"somebody else\"\n").create(1)
	after := newGarm(t, fmt.Sprintf("owner = %q\n", owner))
	name := after.create(1)
	testgarm.Eventually(t, time.Minute, "the lost runner's end", func() bool {
		return dockertest.Must(t, "inspect", "--format", "{{.State.Status}}", lost) == "exited"
	})
	after.mustRun(0, "DeleteInstance", name)
	if exists(lost) || !exists(foreign) {
		t.Errorf("the lost runner exists: %v; that of another owner: %v", exists(lost), exists(foreign))
	}
}
