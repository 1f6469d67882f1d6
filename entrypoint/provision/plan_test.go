package provision_test

import (
	"fmt"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
)

// A server with one Gitea, its credentials, a repository and a pool, as garm v0.2.1 lists them.
func withPool(pools ...string) *fakeAPI {
	f := newFakeAPI()
	f.answers["/gitea/endpoints"] = `[{"name":"gitea","endpoint_type":"gitea","base_url":"http://gitea","api_base_url":"http://gitea","use_internal_tools_metadata":true}]`
	f.answers["/gitea/credentials"] = `[{"id":1,"name":"bot","forge_type":"gitea","auth-type":"pat","endpoint":{"name":"gitea"}}]`
	f.answers["/repositories"] = `[{"id":"r1","owner":"acme","name":"web","credentials_name":"bot","endpoint":{"name":"gitea","endpoint_type":"gitea"}}]`
	f.answers["/pools"] = "[" + strings.Join(pools, ",") + "]"
	return f
}

// pool is one of the repository.
func pool(id, prefix, more string) string {
	return fmt.Sprintf(`{"id":%q,"repo_id":"r1","runner_prefix":%q,"provider_name":"p","image":"i","flavor":"f","max_runners":1,"enabled":true,"os_type":"linux","os_arch":"amd64",`+
		`"runner_bootstrap_timeout":20,"tags":[{"id":"t","name":"x"}]%s}`, id, prefix, more)
}

const giteaHead = "[[endpoint]]\nname = \"gitea\"\nforge = \"gitea\"\nbase_url = \"http://gitea\"\n[[credentials]]\nname = \"bot\"\nendpoint = \"gitea\"\ntoken = \"x\"\n"
const repositoryHead = giteaHead + "[[repository]]\nowner = \"acme\"\nname = \"web\"\ncredentials = \"bot\"\n"

func poolText(name, more string) string {
	return "[[repository.pool]]\nname = \"" + name + "\"\n" + aPool + more
}

// inForce is the memory of a server on which the text was applied, which has all that it declares.
func inForce(t *testing.T, f *fakeAPI, text string) *provision.Memory {
	t.Helper()
	memory := provision.NewMemory()
	result := f.apply(t, memory, load(t, write(t, t.TempDir(), "a.toml", text)), provision.PlanOptions{})
	if !result.Provisioned() {
		t.Fatalf("not in force: %s", problems(result))
	}
	return memory
}

// What a comparison makes of declared and observed state; see summary for the notation.
func TestPlan(t *testing.T) {
	t.Parallel()
	small := pool("p1", "small", "")
	for name, c := range map[string]struct {
		server *fakeAPI
		text   string
		want   string
	}{
		"nothing declared":         {withPool(small), "", ""},
		"all there, secrets apart": {withPool(small), repositoryHead + poolText("small", ""), "~ credentials bot token"},
		"all new": {newFakeAPI(), repositoryHead + "webhook = \"install\"\n" + poolText("small", ""),
			"+ endpoint gitea\n+ credentials bot\n+ repository acme/web\n+ webhook of repository acme/web\n+ pool small of repository acme/web"},
		"a field":              {withPool(small), repositoryHead + poolText("small", "min_idle_runners = 1\n"), "~ credentials bot token\n~ pool small of repository acme/web min_idle_runners=1"},
		"an explicit false":    {withPool(small), repositoryHead + poolText("small", "enabled = false\n"), "~ credentials bot token\n~ pool small of repository acme/web enabled=false"},
		"an explicit zero":     {withPool(pool("p1", "small", `,"min_idle_runners":1`)), repositoryHead + poolText("small", "min_idle_runners = 0\n"), "~ credentials bot token\n~ pool small of repository acme/web min_idle_runners=0"},
		"left out, left alone": {withPool(pool("p1", "small", `,"min_idle_runners":1,"priority":4`)), repositoryHead + poolText("small", ""), "~ credentials bot token"},
		"order and case of tags": {withPool(strings.Replace(small, `[{"id":"t","name":"x"}]`, `[{"id":"t","name":"B"},{"id":"u","name":"a"}]`, 1)),
			repositoryHead + strings.Replace(poolText("small", ""), `["x"]`, `["A", "b"]`, 1), "~ credentials bot token"},
		"case of the entity": {withPool(small), strings.Replace(repositoryHead, `"acme"`, `"ACME"`, 1) + poolText("small", ""), "~ credentials bot token"},
		"another prefix":     {withPool(small), repositoryHead + poolText("large", ""), "~ credentials bot token\n+ pool large of repository acme/web"},
		"adopted by id":      {withPool(pool("p1", "garm", "")), repositoryHead + poolText("small", "id = \"p1\"\n"), "~ credentials bot token\n~ pool small of repository acme/web runner_prefix=\"small\""},
		"adopted, its prefix kept": {withPool(pool("p1", "garm", "")), repositoryHead + poolText("small", "id = \"p1\"\nrunner_prefix = \"garm\"\n"),
			"~ credentials bot token"},
		"adopted, with little said": {withPool(pool("p1", "small", "")), repositoryHead + "[[repository.pool]]\nname = \"small\"\nid = \"p1\"\n", "~ credentials bot token"},
		"two of one prefix": {withPool(small, pool("p2", "small", "")), repositoryHead + poolText("small", ""),
			"~ credentials bot token\n! pool small of repository acme/web: the server has 2 of that name: p1, p2; add id = \"…\" to say which"},
		"two of one prefix, one by id": {withPool(small, pool("p2", "small", "")), repositoryHead + poolText("small", "id = \"p2\"\n"), "~ credentials bot token"},
		"a pool's provider": {withPool(small), repositoryHead + strings.Replace(poolText("small", ""), `provider = "p"`, `provider = "q"`, 1),
			"~ credentials bot token\n! pool small of repository acme/web: provider is \"p\" on the server, not \"q\": garm moves no runners to another provider: declare another one under another name, and let this one drain"},
		"a URL in use": {withPool(), strings.Replace(giteaHead, "http://gitea", "http://other", 1),
			"~ credentials bot token\n! endpoint gitea: base_url is \"http://gitea\" on the server, not \"http://other\": garm changes no URL of an endpoint that credentials use: declare a new endpoint under another name, or delete its credentials first"},
		"Gitea with what is GitHub's": {withPool(), strings.Replace(giteaHead, "[[credentials]]", "upload_base_url = \"http://x\"\n[[credentials]]", 1),
			"~ credentials bot token\n! endpoint gitea: gitea has no upload_base_url"},
		"a scale set of Gitea": {withPool(), repositoryHead + strings.Replace(strings.Replace(poolText("s", ""), ".pool", ".scale_set", 1), "tags = [\"x\"]\n", "", 1),
			"~ credentials bot token\n! scale_set s of repository acme/web: gitea has no scale_set"},
		"github.com's description": {newFakeAPI(), "[[endpoint]]\nname = \"github.com\"\nforge = \"github\"\ndescription = \"ours\"\n", "~ endpoint github.com description=\"ours\""},
		"credentials nobody knows": {newFakeAPI(), "[[organization]]\nname = \"o\"\ncredentials = \"none\"\n",
			"! organization o: the credentials \"none\" are neither declared nor on the server"},
		"an endpoint nobody knows": {newFakeAPI(), "[[credentials]]\nname = \"c\"\nendpoint = \"none\"\ntoken = \"x\"\n",
			"! credentials c: the endpoint \"none\" is neither declared nor on the server"},
		"credentials of the server": {withPool(), "[[organization]]\nname = \"o\"\ncredentials = \"bot\"\n", "+ organization o"},
		"both forges have the name": {withPool(), giteaHead + "[[credentials]]\nname = \"bot\"\nendpoint = \"github.com\"\ntoken = \"x\"\n[[organization]]\nname = \"o\"\ncredentials = \"bot\"\n",
			"~ credentials bot token\n+ credentials bot\n! organization o: both forges have credentials \"bot\": add forge = \"gitea\" or \"github\""},
		"one of both forges": {withPool(), giteaHead + "[[credentials]]\nname = \"bot\"\nendpoint = \"github.com\"\ntoken = \"x\"\n[[organization]]\nname = \"o\"\ncredentials = \"bot\"\nforge = \"github\"\n",
			"~ credentials bot token\n+ credentials bot\n+ organization o"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := summary(c.server.plan(t, provision.NewMemory(), c.text, provision.PlanOptions{})); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			for _, w := range c.server.written {
				t.Errorf("a plan wrote %v", w)
			}
		})
	}
}

// What people change by hand is left alone and said, or healed; what the files change since is always set.
func TestDrift(t *testing.T) {
	t.Parallel()
	f := withPool(pool("p1", "small", ""))
	text := repositoryHead + poolText("small", "")
	memory := inForce(t, f, text)
	keep, heal := provision.PlanOptions{KeepDrift: true}, provision.PlanOptions{}
	for _, c := range []struct{ name, pools, text, kept, healed string }{
		{"nothing", pool("p1", "small", ""), text, "", ""},
		{"a field", strings.Replace(pool("p1", "small", ""), `"image":"i"`, `"image":"j"`, 1), text,
			`? ~ pool small of repository acme/web image="i"`, `~ pool small of repository acme/web image="i"`},
		{"a field, and the file another", strings.Replace(pool("p1", "small", ""), `"image":"i"`, `"image":"j"`, 1), text + "priority = 2\n",
			"~ pool small of repository acme/web priority=2\n? ~ pool small of repository acme/web image=\"i\"", `~ pool small of repository acme/web priority=2 image="i"`},
		{"a field, and the file the same", strings.Replace(pool("p1", "small", ""), `"image":"i"`, `"image":"j"`, 1), strings.Replace(text, `"i"`, `"k"`, 1),
			`~ pool small of repository acme/web image="k"`, `~ pool small of repository acme/web image="k"`},
		{"deleted", "", text, "? + pool small of repository acme/web", "+ pool small of repository acme/web"},
		{"deleted, and the file changed", "", strings.Replace(text, `"i"`, `"k"`, 1), "+ pool small of repository acme/web", "+ pool small of repository acme/web"},
		{"not ours", pool("p1", "small", "") + "," + pool("p2", "theirs", ""), text, "", ""},
	} {
		f.answers["/pools"] = "[" + c.pools + "]"
		if got := summary(f.plan(t, memory, c.text, keep)); got != c.kept {
			t.Errorf("%s, left alone: got\n%s\nwant\n%s", c.name, got, c.kept)
		}
		if got := summary(f.plan(t, memory, c.text, heal)); got != c.healed {
			t.Errorf("%s, healed: got\n%s\nwant\n%s", c.name, got, c.healed)
		}
	}
}

// Only what is owned is deleted, and only when asked: last kinds first. What is not ours, and what garm has built in,
// stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	f := withPool(pool("p1", "small", ""), pool("p2", "theirs", ""))
	memory := inForce(t, f, repositoryHead+poolText("small", "")+"[controller]\n[[endpoint]]\nname = \"github.com\"\nforge = \"github\"\n")
	prune := provision.PlanOptions{Prune: true}
	for _, c := range []struct{ name, text, want string }{
		{"the pool", repositoryHead, "- pool small of repository acme/web"},
		{"all", "", "- pool small of repository acme/web\n- repository acme/web\n- credentials bot\n- endpoint gitea"},
		{"adopted under another name", repositoryHead + poolText("large", "id = \"p1\"\n"), "~ pool large of repository acme/web runner_prefix=\"large\""},
		{"what cannot be told", "[[organization]]\nname = \"o\"\ncredentials = \"none\"\n", "! organization o: the credentials \"none\" are neither declared nor on the server"},
	} {
		if got := summary(f.plan(t, memory, c.text, prune)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := summary(f.plan(t, memory, giteaHead, provision.PlanOptions{})); got != "u pool small of repository acme/web\nu repository acme/web" {
		t.Errorf("not asked for: %s", got)
	}
	if got := summary(f.plan(t, provision.NewMemory(), "", prune)); got != "" {
		t.Errorf("with no memory: %s", got)
	}
}

// Twins: whoever noted that it sends a creation keeps the oldest of what came into being at once, and deletes the
// others.
func TestTwins(t *testing.T) {
	t.Parallel()
	at := func(clock string) string { return `,"created_at":"2026-12-07T` + clock + `Z"` }
	b, a, c := pool("p2", "small", at("10:00:00.5")), pool("p9", "small", at("10:00:00.4")), pool("p3", "small", at("11:00:00"))
	text := repositoryHead + poolText("small", "")
	memory := inForce(t, withPool(b), text)
	noted := func() *provision.Memory {
		m := *memory
		m.Objects = map[string]provision.Remembered{}
		for key, r := range memory.Objects {
			if strings.Contains(key, "/pool/") {
				r.Sent = "sent"
			}
			m.Objects[key] = r
		}
		return &m
	}
	for _, row := range []struct {
		name   string
		server *fakeAPI
		memory *provision.Memory
		want   string
	}{
		{"noted", withPool(b, a), noted(), "- pool small of repository acme/web"},
		{"not noted", withPool(b, a), memory, "! pool small of repository acme/web: the server has 2 of that name: p2, p9; add id = \"…\" to say which"},
		{"an hour later", withPool(b, c), noted(), "! pool small of repository acme/web: the server has 2 of that name: p2, p3; add id = \"…\" to say which"},
		{"one only", withPool(b), noted(), ""},
	} {
		plan := row.server.plan(t, row.memory, text, provision.PlanOptions{})
		if got := summary(plan); got != row.want {
			t.Errorf("%s: got\n%s\nwant\n%s", row.name, got, row.want)
		}
		if len(plan.Changes) == 1 && !strings.Contains(plan.Changes[0].Note, "p2 goes") {
			t.Errorf("%s: %q", row.name, plan.Changes[0].Note)
		}
	}
}

// Two declarations that only the server shows to be one object are a fault of the second.
func TestDeclaredTwiceOnline(t *testing.T) {
	t.Parallel()
	f := withPool()
	f.answers["/gitea/credentials"] = `[{"id":1,"name":"bot","forge_type":"gitea","endpoint":{"name":"gitea"}},{"id":2,"name":"bot2","forge_type":"gitea","endpoint":{"name":"gitea"}}]`
	plan := f.plan(t, provision.NewMemory(), "[[organization]]\nname = \"o\"\ncredentials = \"bot\"\n[[organization]]\nname = \"O\"\ncredentials = \"bot2\"\n", provision.PlanOptions{})
	if got := summary(plan); !strings.HasPrefix(got, "+ organization o\n! organization O: it is declared twice: also at ") || len(plan.Problems) != 1 || plan.Problems[0].Place.Line != 4 {
		t.Errorf("got %s", got)
	}
}
