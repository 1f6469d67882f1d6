package garmconfig

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The sections are read as garm reads them; no token is held.
func TestGitHub(t *testing.T) {
	t.Parallel()
	text := edit(t, "/data", "[logging]", `
[[github]]
name = "old"
description = "of before"
oauth2_token = "`+canary+`"
[[github]]
Name = "pat"
base_url = "https://ghe.example.com"
api_base_url = "https://ghe.example.com/api/v3"
upload_base_url = "https://ghe.example.com/api/uploads"
ca_cert_bundle = "/etc/garm/ca.pem"
auth_type = "pat"
  [github.pat]
  oauth2_token = "`+canary+`"
[[github]]
name = "app"
auth_type = "app"
  [github.app]
  app_id = 1
  installation_id = 2
  private_key_path = "/etc/garm/app.pem"
[logging]`)
	config, err := Parse("c.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	want := []GitHub{
		{Name: "old", Description: "of before"},
		{Name: "pat", BaseURL: "https://ghe.example.com", APIBaseURL: "https://ghe.example.com/api/v3", UploadBaseURL: "https://ghe.example.com/api/uploads", CABundle: "/etc/garm/ca.pem"},
		{Name: "app", App: true, AppID: 1, InstallationID: 2, PrivateKeyPath: "/etc/garm/app.pem"},
	}
	got := config.GitHub()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if strings.Contains(fmt.Sprintf("%+v", got), canary) {
		t.Error("a token is held")
	}
	none, err := Parse("c.toml", edit(t, "/data", "[logging]", "[logging]"))
	if err != nil || len(none.GitHub()) != 0 {
		t.Errorf("%v, %v", none, err)
	}
}
