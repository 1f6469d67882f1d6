package provision_test

import (
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

const legacy = `
[[github]]
name = "old one"
description = "of before"
oauth2_token = "canary-of-the-config"
[[github]]
name = "ghe"
base_url = "https://ghe.example.com"
api_base_url = "https://ghe.example.com/api/v3"
upload_base_url = "https://ghe.example.com/api/uploads"
ca_cert_bundle = "DIR/ca.crt"
  [github.pat]
  oauth2_token = "canary-of-the-config"
[[github]]
name = "app"
base_url = "https://ghe.example.com"
api_base_url = "https://ghe.example.com/other"
auth_type = "app"
  [github.app]
  app_id = 1
  installation_id = 2
  private_key_path = "DIR/app.pem"
`

// What people carry along in config.toml is printed without its secrets, and applied to a real server as it is printed.
func TestExportConfig(t *testing.T) {
	t.Parallel()
	s := startServer(t, testgarm.Version(t))
	certificate, _ := testgarm.KeyPair(t, s.dir+"/tls")
	text := strings.ReplaceAll(legacy, "DIR/ca.crt", certificate)
	text = strings.ReplaceAll(text, "DIR/app.pem", write(t, s.dir, "app.pem", appKey(t)))
	config, err := garmconfig.Parse("config.toml", []byte(legacyConfig+text))
	if err != nil {
		t.Fatal(err)
	}
	var sections []provision.ConfigCredentials
	for _, section := range config.GitHub() {
		sections = append(sections, provision.ConfigCredentials(section))
	}
	exported := provision.ExportConfig("config.toml", sections)
	golden(t, "export-config.toml", strings.ReplaceAll(strings.ReplaceAll(string(exported.Text), certificate, "/ca.pem"), s.dir, ""))
	if strings.Contains(string(exported.Text), "canary") {
		t.Error("a secret is in it")
	}
	dir := t.TempDir()
	for _, secret := range exported.Secrets {
		write(t, dir, secret, "canary-of-the-config")
	}
	result := s.apply(provision.NewMemory(), load(t, write(t, dir, "github.toml", string(exported.Text))), provision.PlanOptions{})
	if result.Created != 4 {
		t.Errorf("created %d, not one endpoint and three credentials: %+v", result.Created, result)
	}

	none := provision.ExportConfig("config.toml", nil)
	if want := "# There is no [[github]] section in config.toml.\n"; string(none.Text) != want {
		t.Errorf("%q", none.Text)
	}
}

const legacyConfig = `
[apiserver]
bind = "127.0.0.1"
port = 9997
[jwt_auth]
secret = "Zx9vQ2kLm8nBt4wRy7uJc3hGf6dSa1eP"
time_to_live = "24h"
[database]
backend = "sqlite3"
passphrase = "Zx9vQ2kLm8nBt4wRy7uJc3hGf6dSa1eP"
[database.sqlite3]
db_file = "/data/garm.db"
`
