package provision_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

// What an older garm lacks is one problem per object, each with the version or with what it waits for; the rest is
// applied, and a second apply writes nothing. make test-versions runs them all.
func TestVersions(t *testing.T) {
	t.Parallel()
	for _, version := range testgarm.Releases(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				t.Skip("needs a garm server")
			}
			s, f := startServer(t, version), newForge(t)
			declared, memory := scaleSets(t, s, f, "one"), provision.NewMemory()
			result, err := s.tryApply(memory, declared, provision.PlanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("created %d\n%s", result.Created, problems(result))
			s.counts()
			again, err := s.tryApply(memory, declared, provision.PlanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, writes := s.counts(); writes != 0 {
				t.Errorf("the second apply writes %d times: %+v\n%s", writes, again.Changes, problems(again))
			}
			if a, b := sortedProblems(result), sortedProblems(again); a != b {
				t.Errorf("first\n%s\nthen\n%s", a, b)
			}
			if got := sortedProblems(result); got != lacking[version] {
				t.Errorf("it lacks\n%s\nwant\n%s", got, lacking[version])
			}
			if want := len(declared.Objects) - len(result.Problems) - again.Unchanged; want != 0 {
				t.Errorf("%d objects are neither in force nor a problem", want)
			}
		})
	}
}

func sortedProblems(r *provision.Result) string {
	lines := strings.Split(problems(r), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// lacking is what becomes of scaleSets with each version.
var lacking = map[string]string{
	testgarm.V014: strings.TrimSpace(`controller: this garm (of an unknown version) has it from its config.toml and cannot change garm_agent_releases_url, minimum_job_age_backoff, ca_cert_file
credentials app: this garm (of an unknown version) has no credentials
credentials bot: this garm (of an unknown version) has no credentials
credentials bot: this garm (of an unknown version) has no gitea credentials
endpoint ghes: this garm (of an unknown version) has no endpoint
endpoint gitea: this garm (of an unknown version) has no gitea endpoint
enterprise big: it waits for credentials app
enterprise hub: it waits for credentials app
organization acme: it waits for credentials app
organization hub: it waits for credentials app
pool nothing of repository acme/web: it waits for repository acme/web
pool small of organization acme: it waits for organization acme
pool small of repository acme/web: it waits for repository acme/web
repository acme/hub: it waits for credentials app
repository acme/web: it waits for credentials bot
scale_set all of organization hub: this garm (of an unknown version) has no scale_set
scale_set least of repository acme/hub: this garm (of an unknown version) has no scale_set
scale_set least-of-all of enterprise hub: this garm (of an unknown version) has no scale_set
scale_set second of organization hub: this garm (of an unknown version) has no scale_set
template ours: this garm (of an unknown version) has no template
webhook of repository acme/web: it waits for repository acme/web
`),
	testgarm.V015: lackingBefore02("v0.1.5"),
	testgarm.V018: lackingBefore02("v0.1.8"),
	testgarm.V021: ``,
}

func lackingBefore02(version string) string {
	return strings.ReplaceAll(strings.TrimSpace(`controller: this garm (v0.1.5) accepts it and does not keep it: garm_agent_releases_url, ca_cert_file
credentials bot: this garm (v0.1.5) has no gitea credentials
endpoint gitea: this garm (v0.1.5) has no gitea endpoint
pool nothing of repository acme/web: it waits for repository acme/web
pool small of repository acme/web: it waits for repository acme/web
repository acme/web: it waits for credentials bot
scale_set all of organization hub: this garm (v0.1.5) has no scale_set
scale_set least of repository acme/hub: this garm (v0.1.5) has no scale_set
scale_set least-of-all of enterprise hub: this garm (v0.1.5) has no scale_set
scale_set second of organization hub: this garm (v0.1.5) has no scale_set
template ours: this garm (v0.1.5) has no template
webhook of repository acme/web: it waits for repository acme/web
`), "v0.1.5", version)
}

// Up to v0.1.4 garm's credentials are sections of its config.toml: what needs them goes by their name, declared or not.
func TestCredentialsOfConfig(t *testing.T) {
	t.Parallel()
	if !slices.Contains(testgarm.Releases(t), testgarm.V014) {
		t.Skip("make test-versions has it")
	}
	f := newForge(t)
	s := startServer(t, testgarm.V014, fmt.Sprintf("[[github]]\nname = \"old\"\ndescription = \"of the config\"\nbase_url = %[1]q\napi_base_url = %[1]q\nupload_base_url = %[1]q\noauth2_token = \"x\"\n", f.URL))
	text := "[[repository]]\nowner = \"acme\"\nname = \"web\"\ncredentials = \"old\"\nwebhook = \"manual\"\nwebhook_secret = \"x\"\n[[repository.pool]]\nname = \"p\"\nenabled = false\n" +
		strings.Replace(aPool, `"p"`, `"example"`, 1)
	declared, memory := load(t, write(t, s.dir, "a.toml", text)), provision.NewMemory()
	s.apply(memory, declared, provision.PlanOptions{})
	s.counts()
	s.apply(memory, declared, provision.PlanOptions{})
	if _, writes := s.counts(); writes != 0 {
		t.Errorf("the second apply writes: %d", writes)
	}
	also := load(t, write(t, s.dir, "a.toml", text+"[[credentials]]\nname = \"old\"\nendpoint = \"github.com\"\ntoken = \"x\"\n"))
	if plan := s.plan(memory, also, provision.PlanOptions{}); !plan.Empty() {
		t.Errorf("declared too:\n%s", changes(plan))
	}
}
