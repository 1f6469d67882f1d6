package provision_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
)

// What no real server can be brought to here: scale sets, which only GitHub itself has; names that garm should have refused.
func TestExportOfOddServers(t *testing.T) {
	t.Parallel()
	f := newFakeAPI()
	f.answers["/github/endpoints"] = `[{"name":"github.com","endpoint_type":"github","description":"The github.com endpoint","base_url":"https://github.com"},
		{"name":"a b/c","endpoint_type":"github","base_url":"https://ghe","api_base_url":"https://ghe/api","upload_base_url":"https://ghe/up"}]`
	f.answers["/github/credentials"] = `[{"id":1,"name":"bot","forge_type":"github","auth-type":"pat","endpoint":{"name":"github.com"}},
		{"id":2,"name":"lost","forge_type":"github","auth-type":"pat","endpoint":{"name":"a b/c"}}]`
	f.answers["/organizations"] = `[{"id":"o","name":"acme","credentials_name":"bot","pool_balancing_type":"pack","endpoint":{"name":"github.com","endpoint_type":"github"}}]`
	f.answers["/scalesets"] = `[{"id":7,"scale_set_id":70,"name":"my set","org_id":"o","provider_name":"p","image":"i","flavor":"f","os_type":"linux","os_arch":"amd64",
		"runner_bootstrap_timeout":20,"max_runners":2,"disable_update":true,"runner_prefix":"garm","github-runner-group":"Default","tags":[{"id":"t","name":"big"}]}]`
	f.answers["/scalesets/7"] = `{"id":7,"extra_specs":{"a":1}}`
	f.answers["/templates"] = `[{"id":1,"name":"github_linux","owner_id":"system","forge_type":"github","os_type":"linux"},
		{"id":2,"name":"twice","owner_id":"u","forge_type":"github","os_type":"linux"},{"id":3,"name":"twice","owner_id":"v","forge_type":"github","os_type":"linux"},
		{"id":4,"name":"binary","owner_id":"u","forge_type":"github","os_type":"linux"}]`
	f.answers["/templates/2"] = `{"id":2,"data":"eA=="}`
	f.answers["/templates/3"] = `{"id":3,"data":"eQ=="}`
	f.answers["/templates/4"] = `{"id":4,"data":"/w=="}`
	exported, err := provision.Export(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "export-odd.toml", string(exported.Text))
	declared, err := provision.Load([]string{write(t, t.TempDir(), "a.toml", string(exported.Text))}, provision.Sources{Incomplete: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(f.planOf(t, provision.NewMemory(), declared, provision.PlanOptions{})); got != "" {
		t.Errorf("the plan of it:\n%s", got)
	}
	if len(exported.Secrets) != 1 || len(exported.Left) != 5 {
		t.Errorf("secrets %q, left out %q", exported.Secrets, exported.Left)
	}
}

// An older garm has fewer lists; a forge that does not answer is asked once, and the file says what is not known of its webhooks.
func TestExportOfLess(t *testing.T) {
	t.Parallel()
	f := newFakeAPI()
	for _, path := range []string{"/gitea/endpoints", "/gitea/credentials", "/templates", "/scalesets"} {
		f.answers[path] = "404"
	}
	f.answers["/github/credentials"] = `[{"id":1,"name":"bot","endpoint":{"name":"github.com"}}]`
	f.answers["/repositories"] = `[{"id":"1","owner":"a","name":"b","credentials_name":"bot"},{"id":"2","owner":"a","name":"c","credentials_name":"bot"}]`
	silent := &silentForge{fakeAPI: f}
	exported, err := provision.Export(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}
	if silent.asked != 1 || len(exported.Left) != 1 || !strings.Contains(string(exported.Text), "#   webhooks at github.com: ") {
		t.Errorf("the forge was asked %d times:\n%s", silent.asked, exported.Text)
	}
	if n := strings.Count(string(exported.Text), "[[repository]]"); n != 2 {
		t.Errorf("%d repositories in\n%s", n, exported.Text)
	}
}

// silentForge has no answer about webhooks.
type silentForge struct {
	*fakeAPI
	asked int
}

func (s *silentForge) Do(ctx context.Context, r garmapi.Request) error {
	if strings.HasSuffix(r.Path, "/webhook") {
		s.asked++
		return fmt.Errorf("%s: %w", r.Op, context.DeadlineExceeded)
	}
	return s.fakeAPI.Do(ctx, r)
}
