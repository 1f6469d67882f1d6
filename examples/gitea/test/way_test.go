package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/internal/dockertest"
)

// TestForge goes the whole way: from nothing to jobs that ran, and through what happens in the life of such a set-up. The steps build on each
// other, so the first that fails ends it.
func TestForge(t *testing.T) {
	f := newForge(t)
	took := f.eventually("a webhook", func() bool { return f.hooks() == 1 })
	t.Logf("the webhook was there %v after compose up returned", took)
	f.idle()

	t.Log("jobs")
	first := f.containers()[0]
	with, id := f.push(`echo "ran on $(hostname)"`)
	if log := f.green(id); !strings.Contains(log, "ran on "+first) {
		t.Errorf("the log lacks the runner that was idle, %s: %s", first, log)
	}
	f.gone(first)

	f.edit("min_idle_runners = 1", "min_idle_runners = 0")
	f.eventually("the changed pool", func() bool { return f.said("provisioned: updated", "pool small of repository acme/hello") })
	for range f.containers() { // those made before the change serve one job each
		_, id := f.push("echo again")
		f.green(id)
	}
	f.eventually("a pool without idle runners", func() bool { return len(f.containers()) == 0 })
	without, id := f.push("echo from nothing")
	f.green(id)
	t.Logf("FIGURE push to job start: %.1f s with an idle runner, %.1f s without one", with.Seconds(), without.Seconds())

	t.Log("garm killed while a job runs")
	_, id = f.push("sleep 15; echo survived")
	running := f.containers("status=running")
	f.compose("kill", "garm")
	if log := f.green(id); !strings.Contains(log, "survived") {
		t.Errorf("the job's log: %s", log)
	}
	f.compose("up", "-d")
	for _, runner := range running {
		took := f.within(reapTime, "the end of runner "+runner, func() bool { return !slices.Contains(f.containers(), runner) })
		t.Logf("the killed garm's runner was removed %v after garm was back", took)
	}

	t.Log("the token rotated")
	f.rotate()
	_, id = f.push("echo with the new token")
	f.green(id)

	t.Log("the volume lost")
	f.edit("min_idle_runners = 0", "min_idle_runners = 1")
	f.idle()
	lost := f.containers()
	f.compose("rm", "--stop", "--force", "garm")
	dockertest.Must(t, "volume", "rm", f.project+"_garm")
	f.compose("up", "-d")
	took = f.eventually("a runner of the new garm", func() bool { return slices.ContainsFunc(f.containers(), fresh(lost)) })
	_, id = f.push("echo after the loss")
	f.green(id)
	t.Logf("FIGURE from a lost volume to a runner of the new garm: %.1f s", took.Seconds())

	t.Log("the pool removed")
	f.removePool()
	f.eventually("an end of all runners", func() bool { return len(f.containers()) == 0 })
}

// fresh tells runners that are not among the old ones.
func fresh(old []string) func(string) bool {
	return func(id string) bool { return !slices.Contains(old, id) }
}

// idle waits until a runner runs that is registered.
func (f *forge) idle() {
	f.t.Helper()
	f.eventually("an idle runner", func() bool {
		var list struct {
			Total int `json:"total_count"`
		}
		f.gitea("GET", "/actions/runners", nil, &list)
		return list.Total > 0 && len(f.containers("status=running")) > 0
	})
}

// gone waits until a runner's container is no more.
func (f *forge) gone(id string) {
	f.t.Helper()
	f.eventually("the end of runner "+id, func() bool { return !slices.Contains(f.containers(), id) })
}

// rotate makes a new token as setup.sh says, and revokes the old one.
func (f *forge) rotate() {
	f.t.Helper()
	path := filepath.Join(f.dir, "secrets/gitea-token")
	old, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		f.t.Fatal(err)
	}
	f.run("./setup.sh")
	if now, err := os.ReadFile(path); err != nil || string(now) == string(old) {
		f.t.Fatalf("setup.sh left the token as it was: %v", err)
	}
	f.eventually("the new token's use", func() bool { return f.said("provisioned: updated", "credentials gitea") })
}

// said reports whether garm's log has a line with all these words.
func (f *forge) said(words ...string) bool {
	f.t.Helper()
	return slices.ContainsFunc(strings.Split(f.compose("logs", "--no-color", "garm"), "\n"), func(line string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

// removePool takes the pool out of the provision file.
func (f *forge) removePool() {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, poolFile))
	if err != nil {
		f.t.Fatal(err)
	}
	_, pool, found := strings.Cut(string(data), "  [[repository.pool]]")
	if !found {
		f.t.Fatal("the provision file has no pool")
	}
	f.edit("  [[repository.pool]]"+pool, "")
}
