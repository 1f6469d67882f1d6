package provision_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

// everything declares every kind, and every field that can be compared, of a server whose forge is at url.
func everything(t testing.TB, dir, url string) string {
	t.Helper()
	ca, _ := testgarm.KeyPair(t, filepath.Join(dir, "ca"))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "app.pem", string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
	write(t, dir, "token", "canary-token-of-the-forge\n")
	write(t, dir, "hook", "canary-of-the-webhook\r\n")
	write(t, dir, "ours.tmpl", "#!/bin/sh\necho ours\n")
	return write(t, dir, "all.toml", fmt.Sprintf(`
[controller]
minimum_job_age_backoff = 5
enable_agent_tools_sync = false
garm_agent_releases_url = "https://releases.example.com/agent"
ca_cert_file = %[2]q

[[endpoint]]
name = "gitea"
forge = "gitea"
description = "ours"
base_url = %[1]q
api_base_url = %[1]q
ca_cert_file = %[2]q
use_internal_tools_metadata = true

[[endpoint]]
name = "ghes"
forge = "github"
base_url = %[1]q
ca_cert_file = %[2]q

[[credentials]]
name = "bot"
endpoint = "gitea"
description = "a bot"
token_file = "token"

[[credentials]]
name = "bot"
endpoint = "ghes"
token_file = "token"

[[credentials]]
name = "app"
endpoint = "ghes"
app_id = 7
installation_id = 8
private_key_file = "app.pem"

[[template]]
name = "ours"
forge = "gitea"
os_type = "linux"
description = "our own"
file = "ours.tmpl"

[[repository]]
owner = "acme"
name = "web"
credentials = "bot"
forge = "gitea"
webhook = "install"
pool_balancer_type = "pack"
agent_mode = false
  [[repository.pool]]
  name = "small"
  provider = "example"
  image = "runner:24.04"
  flavor = "small"
  tags = ["linux", "Small"]
  max_runners = 0
  min_idle_runners = 0
  enabled = false
  os_type = "linux"
  os_arch = "arm64"
  runner_bootstrap_timeout = 30
  enable_shell = true
  github-runner-group = "group"
  priority = 3
  template = "ours"
  extra_specs = { disks = [1, 2.5], nested = { on = true } }
  [[repository.pool]]
  name = "nothing"
  provider = "example"
  image = "i"
  flavor = "f"
  tags = ["x"]
  max_runners = 4
  enabled = false
  extra_specs = '{"a": null}'

[[organization]]
name = "acme"
credentials = "app"
webhook = "manual"
webhook_secret_file = "hook"
  [[organization.pool]]
  name = "small"
  provider = "example"
  image = "i"
  flavor = "f"
  tags = ["x"]
  max_runners = 4
  enabled = false

[[enterprise]]
name = "big"
credentials = "app"
webhook_secret_file = "hook"
`, url, ca))
}

// The second plan after an apply is empty, whatever is declared; the second apply writes nothing, and asks a constant
// number of times.
func TestEverythingConverges(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	declared := load(t, everything(t, s.dir, f.URL))
	memory := provision.NewMemory()

	first := s.apply(memory, declared, provision.PlanOptions{})
	if first.Created == 0 || first.Failed != 0 {
		t.Fatalf("the first apply: %+v", first)
	}
	if n := f.hookCount(); n != 1 {
		t.Errorf("%d webhooks at the forge, not 1", n)
	}
	s.counts()
	if plan := s.plan(memory, declared, provision.PlanOptions{}); !plan.Empty() {
		t.Errorf("the second plan:\n%s", changes(plan))
	}
	reads, writes := s.counts()
	second := s.apply(memory, declared, provision.PlanOptions{})
	if reads2, writes2 := s.counts(); writes+writes2 != 0 || reads2 != reads {
		t.Errorf("the second apply: %d reads and %d writes, where a plan has %d", reads2, writes2, reads)
	}
	if second.Unchanged != len(declared.Objects) {
		t.Errorf("%d of %d objects unchanged", second.Unchanged, len(declared.Objects))
	}
	encoded, err := memory.Encode()
	if err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(s.dir, "memory.json"), encoded, 0o600)

	t.Run("lost memory", func(t *testing.T) {
		lost := provision.NewMemory()
		again := s.apply(lost, declared, provision.PlanOptions{Prune: true})
		if again.Created != 0 || again.Deleted != 0 || again.Updated != 5 {
			t.Errorf("with no memory: %+v", again)
		}
	})
}
