package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// forgeToken is the secret that provision files of these tests name.
const forgeToken = "forgecanaryK4Wd8Zs2Qx6Rb9Tn3Ml7Vp"

// declare writes a provision file, and the token that it names, beside the config, and returns its path.
func declare(t *testing.T, dir, forge, poolLines string) string {
	t.Helper()
	files := filepath.Join(dir, "provision.d")
	if err := os.MkdirAll(files, 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(dir, "token"), forgeToken+"\n")
	path := filepath.Join(files, "forge.toml")
	place(t, path, fmt.Sprintf(`
[[endpoint]]
name = "forge"
forge = "gitea"
base_url = %q
use_internal_tools_metadata = true

[[credentials]]
name = "bot"
endpoint = "forge"
token_file = "../token"

[[repository]]
owner = "acme"
name = "web"
credentials = "bot"
  [[repository.pool]]
  name = "small"
  provider = "example"
  image = "image"
  flavor = "small"
  tags = ["linux"]
  enabled = false
%s
`, forge, poolLines))
	return path
}

// place replaces a file as an editor does, in one step.
func place(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// provisionable is a directory whose config has the example's provider, and a forge.
func provisionable(t *testing.T) (dir, forge string) {
	t.Helper()
	dir = t.TempDir()
	withProvider(t, dir)
	return dir, fmt.Sprintf("http://127.0.0.1:%d", testgarm.Forge(t))
}

const toBase = "GARM_BASE_URL=http://127.0.0.1:9997"

// The main job provisions what is declared beside its config, after ready; a changed file is seen, a faulty one leaves
// the last good one in force, a changed secret is sent, and nothing is said of it.
func TestRunProvisions(t *testing.T) {
	t.Parallel()
	dir, forge := provisionable(t)
	declare(t, dir, forge, "max_runners = 3")
	r := start(t, dir, nil, toBase, "GARM_WATCH_INTERVAL=200ms", "GARM_LOG_FORMAT=text")
	r.ready()
	r.WaitFor(`msg=provisioned .*created=4 updated=0 deleted=0 unchanged=4 failed=0`, patience)
	for _, object := range []string{"endpoint forge", "credentials bot", "repository acme/web", "pool small of repository acme/web"} {
		r.WaitFor(`msg="provisioned: created" .*object="`+object+`"`, patience)
	}
	if out := r.Output(); strings.Index(out, "msg=ready") > strings.Index(out, "provisioned: created") {
		t.Error("something was provisioned before ready")
	}

	declare(t, dir, forge, "max_runners = 4")
	r.WaitFor(`msg="provisioned: updated" .*object="pool small of repository acme/web" max_runners="3 → 4"`, patience)

	declare(t, dir, forge, "max_runners = \"five\"")
	r.WaitFor(`level=ERROR msg="the provision files have faults; the last good ones stay in force: cannot use .*forge.toml:\d+: max_runners: it must be a whole number"`, patience)
	declare(t, dir, forge, "max_runners = 4")
	r.WaitFor(`msg="the provision files are as they were before their faults"`, patience)

	place(t, filepath.Join(dir, "token"), "another"+forgeToken)
	r.WaitFor(`msg="provisioned: updated" .*object="credentials bot" token=changed`, patience)
	testgarm.NoCanary(t, []*testgarm.Proc{r.Proc}, forgeToken)
	memory, err := os.ReadFile(filepath.Join(dir, "provision.json"))
	if err != nil || strings.Contains(string(memory), forgeToken) {
		t.Errorf("what is remembered: %v, %s", err, memory)
	}
	r.stop()

	again := start(t, dir, nil, toBase)
	again.ready()
	again.WaitFor(`msg=provisioned .*created=0 updated=0 deleted=0 unchanged=4 failed=0`, patience)
	again.stop()
}

// A faulty file, one that does not go with the config, and a missing secret are refused before garm starts, all at once.
func TestRunRefusesFaultyDeclaration(t *testing.T) {
	t.Parallel()
	dir, forge := provisionable(t)
	path := declare(t, dir, forge, "max_runners = 3\nimages = \"x\"\nmin_idle_runners = 9")
	text, _ := os.ReadFile(path)
	place(t, path, strings.ReplaceAll(string(text), "../token", "../nothing"))
	r := start(t, dir, nil)
	if code := r.Wait(patience); code != 78 {
		t.Errorf("exit code %d, want 78", code)
	}
	for _, want := range []string{
		`forge.toml:11: token_file: cannot read .*/nothing: no such file or directory`,
		`forge.toml:25: unknown key "images" in pool; there are name, id`,
		`forge.toml:26: pool small of repository acme/web: min_idle_runners is 9, more than max_runners, 3`,
	} {
		r.WaitFor(want, patience)
	}
	if strings.Contains(r.Output(), "starting garm") {
		t.Error("garm was started")
	}
	declare(t, dir, forge, "max_runners = 3")
	text, _ = os.ReadFile(path)
	place(t, path, strings.ReplaceAll(string(text), `"example"`, `"exmaple"`)+"[[organization]]\nname = \"acme\"\ncredentials = \"bot\"\nwebhook = \"install\"\n")
	r = start(t, dir, []string{"check"})
	if code := r.Wait(patience); code != 78 {
		t.Errorf("check: exit code %d, want 78", code)
	}
	r.WaitFor(`has no \[\[provider\]\] "exmaple": there are example`, patience)
	r.WaitFor(`garm installs webhooks only with enable_webhook_management = true in \[default\]`, patience)
}

// What is changed by hand is said with both values and left alone, or set again where that is asked for; what is no
// longer declared stays, or is deleted where that is asked for.
func TestRunDriftAndPrune(t *testing.T) {
	t.Parallel()
	dir, forge := provisionable(t)
	declare(t, dir, forge, "max_runners = 3")
	report := start(t, dir, nil, toBase, "GARM_PROVISION_INTERVAL=300ms", "GARM_WATCH_INTERVAL=200ms")
	report.WaitFor("msg=provisioned ", patience)
	api := testgarm.API(t, testgarm.BaseURL(t, report.config))
	token, _ := api.Login("admin", testgarm.Canary)
	pool := api.Pools(token)[0]
	api.Put(token, "/pools/"+pool, map[string]any{"max_runners": 7})
	report.WaitFor(`level=WARN msg="changed by hand and left alone .*object="pool small of repository acme/web" drift="max_runners: declared 3, on the server 7"`, patience)
	report.stop()

	heal := start(t, dir, nil, toBase, "GARM_PROVISION_INTERVAL=300ms", "GARM_PROVISION_DRIFT=heal", "GARM_PROVISION_PRUNE=true", "GARM_WATCH_INTERVAL=200ms")
	heal.WaitFor(`msg="provisioned: updated" .*max_runners="7 → 3"`, patience)
	token, _ = api.Login("admin", testgarm.Canary)
	api.Put(token, "/pools/"+pool, map[string]any{"max_runners": 8})
	heal.WaitFor(`msg="provisioned: updated" .*max_runners="8 → 3"`, patience)
	path := filepath.Join(dir, "provision.d", "forge.toml")
	text, _ := os.ReadFile(path)
	place(t, path, string(text)[:strings.Index(string(text), "[[repository]]")])
	heal.WaitFor(`msg="provisioned: deleted" .*object="pool small of repository acme/web"`, patience)
	heal.WaitFor(`msg="provisioned: deleted" .*object="repository acme/web"`, patience)
	if left := api.Pools(token); len(left) != 0 {
		t.Errorf("pools left: %v", left)
	}
	heal.stop()
}

// plan, apply and export on a running server, beside the main job and from elsewhere.
func TestProvisionCommands(t *testing.T) {
	t.Parallel()
	dir, forge := provisionable(t)
	r := start(t, dir, nil, toBase)
	r.ready()
	path := declare(t, dir, forge, "max_runners = 3")
	call := func(want int, args ...string) string {
		t.Helper()
		p := start(t, dir, args, "GARM_LOG_FORMAT=text")
		if code := p.Wait(patience); code != want {
			t.Fatalf("%v: exit code %d, want %d", args, code, want)
		}
		return p.Output()
	}
	if out := call(2, "plan", path); strings.Count(out, "\n+ ") != 3 || !strings.HasPrefix(out, "+ endpoint forge") {
		t.Errorf("plan: %s", out)
	}
	call(0, "apply", path)
	call(0, "plan")
	call(0, "apply")
	if out := call(2, "plan", "--output", "json", declare(t, dir, forge, "max_runners = 5")); !strings.Contains(out, `"from": "3"`) {
		t.Errorf("plan as JSON: %s", out)
	}
	if out := call(0, "export"); !strings.Contains(out, "[[repository.pool]]") || strings.Contains(out, forgeToken) {
		t.Errorf("export: %s", out)
	}
	call(78, "apply", filepath.Join(dir, "nowhere.toml"))
	call(64, "plan", "--output", "xml")
	r.stop()
	call(69, "plan", path)
}
