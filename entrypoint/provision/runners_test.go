package provision_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

// runnersTake is how long garm may need for what it does in loops of 5 and 10 s.
const runnersTake = 90 * time.Second

// withRunners declares a repository with a pool of two idle runners of an image; with no pool when image is empty.
func withRunners(t testing.TB, dir, forgeURL, image, more string) *provision.Declared {
	t.Helper()
	write(t, dir, "token", "canary-token-of-the-forge\n")
	text := fmt.Sprintf("[[endpoint]]\nname = \"gitea\"\nforge = \"gitea\"\nbase_url = %q\nuse_internal_tools_metadata = true\n"+
		"[[credentials]]\nname = \"bot\"\nendpoint = \"gitea\"\ntoken_file = \"token\"\n"+
		"[[repository]]\nowner = \"acme\"\nname = \"web\"\ncredentials = \"bot\"\n", forgeURL)
	if image != "" {
		text += fmt.Sprintf("[[repository.pool]]\nname = \"p\"\nprovider = \"example\"\nimage = %q\nflavor = \"f\"\ntags = [\"x\"]\nmax_runners = 3\nmin_idle_runners = 2\n%s", image, more)
	}
	return load(t, write(t, dir, "runners.toml", text))
}

// runner is an instance as garm lists it.
type runner struct {
	Name         string
	Status       string
	RunnerStatus string `json:"runner_status"`
	Generation   uint64
}

func (s *server) runners() (all []runner) {
	s.t.Helper()
	for _, row := range s.has("/instances", func(row map[string]any) string { data, _ := json.Marshal(row); return string(data) }) {
		var r runner
		_ = json.Unmarshal([]byte(row), &r)
		all = append(all, r)
	}
	return all
}

// report does what the software on a machine does: it tells garm its status, with the token that the machine was handed.
func (s *server) report(name, status string) {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, "boot", ".*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		var boot struct {
			Name  string
			Token string `json:"instance-token"`
		}
		if err := json.Unmarshal(data, &boot); err != nil || boot.Name != name {
			continue
		}
		body, _ := json.Marshal(map[string]string{"status": status, "message": status})
		request, _ := http.NewRequestWithContext(s.t.Context(), "POST", s.url+"/api/v1/callbacks/status", bytes.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+boot.Token)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			s.t.Fatalf("%s reports %s: %d", name, status, answer.StatusCode)
		}
		return
	}
	s.t.Fatalf("no machine was handed the name %s", name)
}

// idleRunners waits until garm has made two machines, and lets them report that they are idle.
func (s *server) idleRunners() []runner {
	s.t.Helper()
	s.eventually("two machines that run", func() bool {
		all := s.runners()
		return len(all) == 2 && all[0].Status == "running" && all[1].Status == "running"
	})
	for _, r := range s.runners() {
		s.report(r.Name, "installing")
		s.report(r.Name, "idle")
	}
	return s.runners()
}

func (s *server) eventually(what string, condition func() bool) {
	s.t.Helper()
	testgarm.Eventually(s.t, runnersTake, what, func() bool {
		if condition() {
			return true
		}
		time.Sleep(50 * time.Millisecond) // a poll with a deadline, which spares garm
		return false
	})
}

// busy makes a runner what it is while it runs a job; in truth the forge's webhook does.
func (s *server) busy(name string) { s.setStatus(name, "active") }

func (s *server) setStatus(name, status string) {
	s.t.Helper()
	testgarm.SQL(s.t, filepath.Join(s.dir, "garm.db"), fmt.Sprintf("UPDATE instances SET runner_status = '%s' WHERE name = '%s'", status, name))
}

func find(all []runner, name string) *runner {
	for n := range all {
		if all[n].Name == name {
			return &all[n]
		}
	}
	return nil
}

// A pool that is no longer declared is deleted only where that is asked for: disabled first, its idle runners removed, a
// busy one never; once that has ended, the pool goes. Its machines end with the runners.
func TestPruneDrains(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	memory := provision.NewMemory()
	s.apply(memory, withRunners(t, s.dir, f.URL, "image", ""), provision.PlanOptions{})
	all := s.idleRunners()
	idle, busy := all[0].Name, all[1].Name
	s.busy(busy)

	without := withRunners(t, s.dir, f.URL, "", "")
	s.counts()
	kept := s.apply(memory, without, provision.PlanOptions{})
	if _, writes := s.counts(); writes != 0 || strings.Join(kept.Undeclared, ",") != "pool p of repository acme/web" {
		t.Errorf("without pruning: %d writes, undeclared %q", writes, kept.Undeclared)
	}
	prune := provision.PlanOptions{Prune: true}
	result, err := s.tryApply(memory, without, prune)
	if err != nil {
		t.Fatal(err)
	}
	if result.Provisioned() || !result.Later() || !strings.Contains(problems(result), "drains: 1 runners are being removed, 1 are not idle") {
		t.Errorf("with a busy runner: %s", problems(result))
	}
	if enabled := s.has("/pools", textOf("enabled")); strings.Join(enabled, "") != "<nil>" {
		t.Errorf("the pool is enabled: %v", enabled) // false is left out
	}
	s.eventually("the end of the idle runner", func() bool { return find(s.runners(), idle) == nil })
	for range 3 { // however often
		result, err = s.tryApply(memory, without, prune)
		if err != nil || result.Provisioned() {
			t.Fatalf("%v %+v", err, result)
		}
	}
	if all := s.runners(); len(all) != 1 || all[0].Name != busy || all[0].Status != "running" {
		t.Errorf("runners: %+v", all)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "machines", "*", "*", busy)); len(found) != 1 {
		t.Errorf("the busy machine: %v", found)
	}
	s.setStatus(busy, "terminated") // its job has ended
	s.eventually("the end of the pool", func() bool {
		result, err = s.tryApply(memory, without, prune)
		return err == nil && result.Provisioned()
	})
	if pools := s.has("/pools", textOf("id")); len(pools) != 0 || len(s.runners()) != 0 {
		t.Errorf("left: pools %v, runners %+v", pools, s.runners())
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "machines", "*", "*", "*")); len(found) != 0 {
		t.Errorf("machines are left: %v", found)
	}
}

// Idle runners of before a change keep the old image, which the plan says, unless they are to be replaced; a busy one
// keeps it anyway.
func TestReplaceIdleRunners(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	memory := provision.NewMemory()
	s.apply(memory, withRunners(t, s.dir, f.URL, "one", ""), provision.PlanOptions{})
	all := s.idleRunners()
	idle, busy := all[0].Name, all[1].Name
	s.busy(busy)

	two := withRunners(t, s.dir, f.URL, "two", "")
	if plan := s.plan(memory, two, provision.PlanOptions{}); len(plan.Changes) != 1 || !strings.Contains(plan.Changes[0].Note, "stay as they are") {
		t.Errorf("plan: %s", changes(plan))
	}
	s.apply(memory, two, provision.PlanOptions{})
	if all := s.runners(); find(all, idle) == nil || find(all, idle).Status != "running" {
		t.Errorf("the idle runner was not left alone: %+v", all)
	}
	s.apply(memory, withRunners(t, s.dir, f.URL, "two", "replace_idle_runners = true\n"), provision.PlanOptions{})
	s.eventually("the end of the idle runner of before", func() bool { return find(s.runners(), idle) == nil })
	s.eventually("a new one", func() bool { return len(s.runners()) >= 2 })
	for _, r := range s.runners() {
		if old := find(all, r.Name); old != nil && r.Name != busy || old == nil && r.Generation <= all[0].Generation {
			t.Errorf("runner %+v, of before %+v", r, all)
		}
	}
	if b := find(s.runners(), busy); b == nil || b.Status != "running" {
		t.Errorf("the busy runner: %+v", b)
	}
	s.counts()
	s.apply(memory, withRunners(t, s.dir, f.URL, "two", "replace_idle_runners = true\n"), provision.PlanOptions{})
	if _, writes := s.counts(); writes != 0 {
		t.Errorf("%d writes once they are replaced", writes)
	}
}

// A webhook that we installed goes with its entity; one that we did not, stays at the forge.
func TestPruneWebhooks(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	write(t, s.dir, "token", "x\n")
	write(t, s.dir, "hook", "y\n")
	head := fmt.Sprintf("[[endpoint]]\nname = \"gitea\"\nforge = \"gitea\"\nbase_url = %q\nuse_internal_tools_metadata = true\n"+
		"[[credentials]]\nname = \"bot\"\nendpoint = \"gitea\"\ntoken_file = \"token\"\n", f.URL)
	entities := "[[repository]]\nowner = \"acme\"\nname = \"ours\"\ncredentials = \"bot\"\nwebhook = \"install\"\n" +
		"[[repository]]\nowner = \"acme\"\nname = \"theirs\"\ncredentials = \"bot\"\nwebhook = \"manual\"\nwebhook_secret_file = \"hook\"\n" +
		"[[organization]]\nname = \"acme\"\ncredentials = \"bot\"\nwebhook = \"install\"\n"
	memory := provision.NewMemory()
	s.apply(memory, load(t, write(t, s.dir, "a.toml", head+entities)), provision.PlanOptions{})
	var controller struct {
		URL string `json:"controller_webhook_url"`
	}
	if err := s.Do(t.Context(), garmapi.Request{Op: "read controller", Method: "GET", Path: "/controller", Into: &controller}); err != nil {
		t.Fatal(err)
	}
	url := controller.URL
	f.addHook("/repos/acme/theirs", url)                  // by hand, for our garm
	f.addHook("/repos/acme/ours", "http://other.example") // somebody else's
	if n := f.hookCount(); n != 4 {
		t.Fatalf("%d webhooks: %v", n, f.hooks)
	}
	result := s.apply(memory, load(t, write(t, s.dir, "a.toml", head)), provision.PlanOptions{Prune: true})
	if result.Deleted != 5 { // three entities, two webhooks
		t.Errorf("deleted: %+v", result.Changes)
	}
	var left []string
	for path, hooks := range f.hooks {
		for _, hook := range hooks {
			left = append(left, path+" "+fmt.Sprint(hook["config"].(map[string]any)["url"]))
		}
	}
	if len(left) != 2 || !strings.Contains(strings.Join(left, ","), "other.example") || !strings.Contains(strings.Join(left, ","), url) {
		t.Errorf("left at the forge: %v", left)
	}
}
