package provision_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

// post creates an object by hand and returns what the server made of it.
func (s *server) post(path string, body map[string]any) map[string]any {
	s.t.Helper()
	var made map[string]any
	if err := s.Do(s.t.Context(), garmapi.Request{Op: "post " + path, Method: "POST", Path: path, Body: body, Into: &made}); err != nil {
		s.t.Fatal(err)
	}
	return made
}

func (s *server) put(path string, body map[string]any) {
	s.t.Helper()
	if err := s.Do(s.t.Context(), garmapi.Request{Op: "put " + path, Method: "PUT", Path: path, Body: body}); err != nil {
		s.t.Fatal(err)
	}
}

// appKey is a key as GitHub hands it out.
func appKey(t testing.TB) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

const handToken = "canary-token-typed-by-hand"

// byHand sets a server up as people do, with every kind of object and what only they think of.
func (s *server) byHand(forge string, key string) {
	s.t.Helper()
	certificate, _ := testgarm.KeyPair(s.t, filepath.Join(s.dir, "ca"))
	ca, err := os.ReadFile(certificate)
	if err != nil {
		s.t.Fatal(err)
	}
	s.put("/controller", map[string]any{"minimum_job_age_backoff": 0, "ca_cert_bundle": ca})
	s.put("/github/endpoints/github.com", map[string]any{"description": "GitHub's \"own\"\nhouse \\ \u00e9"})
	s.post("/gitea/endpoints", map[string]any{"name": "gitea", "base_url": forge, "api_base_url": forge, "ca_cert_bundle": ca, "use_internal_tools_metadata": true})
	s.post("/github/endpoints", map[string]any{"name": "ghes", "base_url": forge, "api_base_url": forge + "/api/v3", "upload_base_url": forge + "/api/uploads"})
	token := map[string]any{"oauth2_token": handToken}
	s.post("/gitea/credentials", map[string]any{"name": "bot", "endpoint": "gitea", "auth_type": "pat", "pat": token})
	s.post("/github/credentials", map[string]any{"name": "bot", "endpoint": "ghes", "auth_type": "pat", "pat": token})
	s.post("/github/credentials", map[string]any{"name": "My App", "description": "with a blank", "endpoint": "ghes", "auth_type": "app",
		"app": map[string]any{"app_id": 7, "installation_id": 8, "private_key_bytes": []byte(key)}})
	for name, data := range map[string]string{
		"plain":  "#!/bin/sh\necho \"a\\b\" '$x'\n",
		"quotes": "'''\r\n\"\"\" \\ \x01 no line end'",
	} {
		s.post("/templates", map[string]any{"name": name, "description": "", "forge_type": "gitea", "os_type": "linux", "data": []byte(data)})
	}
	web := "/repositories/" + s.post("/repositories", map[string]any{"owner": "Acme", "name": "web", "credentials_name": "bot", "forge_type": "gitea",
		"webhook_secret": "canary-hook", "pool_balancer_type": "pack"})["id"].(string)
	s.post("/repositories", map[string]any{"owner": "acme", "name": "web", "credentials_name": "bot", "forge_type": "github", "webhook_secret": "canary-hook"})
	s.post(web+"/webhook", map[string]any{"webhook_endpoint_type": "direct"})
	org := "/organizations/" + s.post("/organizations", map[string]any{"name": "acme", "credentials_name": "My App", "forge_type": "github",
		"webhook_secret": "canary-hook"})["id"].(string)
	big := "/enterprises/" + s.post("/enterprises", map[string]any{"name": "big", "credentials_name": "My App", "webhook_secret": "canary-hook"})["id"].(string)

	pool := func(at, prefix string, more map[string]any) {
		body := map[string]any{"provider_name": "example", "image": "i", "flavor": "f", "os_type": "linux", "os_arch": "arm64",
			"tags": []string{"Zeta", "alpha"}, "max_runners": 2, "min_idle_runners": 0, "enabled": false, "runner_prefix": prefix,
			"runner_bootstrap_timeout": 20}
		for name, value := range more {
			body[name] = value
		}
		s.post(at+"/pools", body)
	}
	pool(web, "", nil)
	pool(web, "", map[string]any{"extra_specs": map[string]any{"a": nil, "b": []any{1, "x", map[string]any{"c": 2.5}}}})
	pool(web, "garm-2", map[string]any{"extra_specs": map[string]any{}, "priority": 4})
	pool(web, "small", map[string]any{"extra_specs": map[string]any{"disks": []any{1, 2.5, "s"}, "odd key.": map[string]any{"on": true, "list": []any{map[string]any{"x": 1}}}},
		"github-runner-group": "group", "enable_shell": true})
	pool(org, "with blank and long enough to be cut, really, at fifty bytes", map[string]any{"os_type": "windows"})
	pool(big, "small", nil)
}

// lists are what a server has, without what differs between two of the same: ids, times, and its own identity.
func (s *server) lists() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, path := range []string{"/controller", "/github/endpoints", "/gitea/endpoints", "/github/credentials", "/gitea/credentials", "/templates",
		"/repositories", "/organizations", "/enterprises", "/pools"} {
		var answer any
		if err := s.Do(s.t.Context(), garmapi.Request{Op: "list", Method: "GET", Path: path, Into: &answer}); err != nil {
			s.t.Fatal(err)
		}
		rows, ok := answer.([]any)
		if !ok {
			rows = []any{answer}
		}
		var lines []string
		for _, row := range rows {
			data, err := json.MarshalIndent(same(row), "", " ")
			if err != nil {
				s.t.Fatal(err)
			}
			lines = append(lines, string(data))
		}
		slices.Sort(lines)
		all[path] = strings.Join(lines, "\n")
	}
	return all
}

// same drops what is each server's own.
func same(v any) any {
	switch value := v.(type) {
	case map[string]any:
		for key, inner := range value {
			switch key {
			case "id", "repo_id", "org_id", "enterprise_id", "template_id", "created_at", "updated_at", "generation", "agent_id", "credentials_id",
				"controller_id", "hostname", "controller_webhook_url", "rate_limit", "pool_manager_status", "events", "cached_garm_agent_release_fetched_at", "owner_id":
				delete(value, key)
			default:
				value[key] = same(inner)
			}
		}
	case []any:
		for n := range value {
			value[n] = same(value[n])
		}
		slices.SortFunc(value, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return v
}

// A server that people set up by hand, printed, shows no difference, secrets or not; and a new server gets the same of
// it, once the secrets are filled in.
func TestExport(t *testing.T) {
	t.Parallel()
	f, key := newForge(t), appKey(t)
	old := startServer(t, testgarm.Version(t))
	old.byHand(f.URL, key)

	exported, err := provision.Export(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	again, err := provision.Export(t.Context(), old)
	if err != nil || string(again.Text) != string(exported.Text) {
		t.Errorf("printed twice, it differs (%v)", err)
	}
	text := string(exported.Text)
	if strings.Contains(text, "canary") || strings.Contains(text, "PRIVATE KEY") {
		t.Error("a secret is in it")
	}
	if len(exported.Left) > 0 {
		t.Errorf("left out: %q", exported.Left)
	}
	dir := t.TempDir()
	path := write(t, dir, "all.toml", text)

	if _, err := provision.Load([]string{path}, provision.Sources{}); err == nil || !strings.Contains(err.Error(), "secrets/") {
		t.Errorf("without its secrets it is complete? %v", err)
	}
	declared, err := provision.Load([]string{path}, provision.Sources{Incomplete: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(declared.Warnings) != len(exported.Secrets)+1 { // and the App's ids
		t.Errorf("warnings: %q", declared.Warnings)
	}
	plan := old.plan(provision.NewMemory(), declared, provision.PlanOptions{Prune: true})
	if !plan.Empty() || len(plan.Undeclared)+len(plan.Drift) != 0 {
		t.Errorf("the plan of what was exported:\n%s\n%v", changes(plan), plan.Undeclared)
	}
	old.counts()
	if _, err := (&provision.Applier{API: old, Memory: provision.NewMemory()}).Apply(t.Context(), declared); err == nil {
		t.Error("applied without its secrets")
	}
	if _, writes := old.counts(); writes > 0 {
		t.Errorf("%d requests were sent without the secrets", writes)
	}

	for _, secret := range exported.Secrets {
		value := handToken
		if strings.Contains(secret, "private_key") {
			value = key
		}
		write(t, dir, secret, value)
	}
	text = strings.Replace(text, "app_id = 0", "app_id = 7", 1)
	path = write(t, dir, "all.toml", strings.Replace(text, "installation_id = 0", "installation_id = 8", 1))
	fresh := startServer(t, testgarm.Version(t))
	memory := provision.NewMemory()
	fresh.apply(memory, load(t, path), provision.PlanOptions{})
	if plan := fresh.plan(memory, load(t, path), provision.PlanOptions{}); !plan.Empty() {
		t.Errorf("the second plan of the new server:\n%s", changes(plan))
	}
	had, has := old.lists(), fresh.lists()
	// Pools with a prefix that they share get one each, so that they can be told apart.
	has["/pools"] = strings.ReplaceAll(has["/pools"], `"runner_prefix": "garm-3"`, `"runner_prefix": "garm"`)
	had["/pools"] = strings.ReplaceAll(had["/pools"], `"with blank and long enough to be cut, really, at fifty bytes"`, `"with-blank-and-long-enough-to-be-cut--really--at-f"`)
	for path := range had {
		a, b := strings.Split(had[path], "\n"), strings.Split(has[path], "\n")
		slices.Sort(a) // a list's order is the names', which were changed a moment ago
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("%s: the new server has\n%s\nand not\n%s", path, has[path], had[path])
		}
	}
}
