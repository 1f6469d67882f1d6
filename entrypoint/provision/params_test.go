package provision_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cloudbase/garm/params"

	"garm-entrypoint/entrypoint/provision"
)

// notDeclared are fields of requests that no field of a file is called by or written as, with the reason.
var notDeclared = map[string]string{
	"credentials.auth_type":           "what is declared says it: a token or an App",
	"credentials.pat":                 "token",
	"credentials.app":                 "app_id, installation_id and private_key",
	"repository.forge_type":           "forge",
	"organization.forge_type":         "forge",
	"scale_set.state":                 "the server's own: what became of it",
	"scale_set.extended_state":        "the server's own: why",
	"scale_set.runner_group":          "github-runner-group, as garm calls it everywhere else",
	"controller.clear_ca_cert_bundle": "not garm's state but an order: leaving ca_cert_file out leaves the bundle alone",
}

// Whatever garm's API can write can be declared, but what is named above with its reason. The list is garm's: a new
// release that can do more fails here.
func TestEveryFieldCanBeDeclared(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for kind, requests := range map[string][]any{
		"controller":   {params.UpdateControllerParams{}},
		"endpoint":     {params.CreateGithubEndpointParams{}, params.UpdateGithubEndpointParams{}, params.CreateGiteaEndpointParams{}, params.UpdateGiteaEndpointParams{}},
		"credentials":  {params.CreateGithubCredentialsParams{}, params.UpdateGithubCredentialsParams{}, params.CreateGiteaCredentialsParams{}, params.UpdateGiteaCredentialsParams{}},
		"repository":   {params.CreateRepoParams{}, params.UpdateEntityParams{}},
		"organization": {params.CreateOrgParams{}, params.UpdateEntityParams{}},
		"enterprise":   {params.CreateEnterpriseParams{}, params.UpdateEntityParams{}},
		"pool":         {params.CreatePoolParams{}, params.UpdatePoolParams{}},
		"scale_set":    {params.CreateScaleSetParams{}, params.UpdateScaleSetParams{}},
		"template":     {params.CreateTemplateParams{}, params.UpdateTemplateParams{}},
	} {
		k := kindOf(t, kind)
		for _, request := range requests {
			for _, name := range jsonNames(reflect.TypeOf(request)) {
				if declarable(k, name) {
					continue
				}
				if notDeclared[kind+"."+name] == "" {
					t.Errorf("%T has %s, which a %s cannot declare", request, name, kind)
				}
				used[kind+"."+name] = true
			}
		}
	}
	for name := range notDeclared {
		if !used[name] {
			t.Errorf("%s needs no reason: it can be declared, or garm has none", name)
		}
	}
}

// jsonNames are the names of all fields of a request, those of embedded structs too.
func jsonNames(of reflect.Type) (names []string) {
	for n := range of.NumField() {
		f := of.Field(n)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			names = append(names, jsonNames(f.Type)...)
		case tag == "-":
		case tag == "":
			names = append(names, f.Name)
		default:
			names = append(names, tag)
		}
	}
	return names
}

func kindOf(t *testing.T, name string) *provision.Kind {
	t.Helper()
	for _, k := range provision.Kinds {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no kind %s", name)
	return nil
}

// declarable reports whether a field of the kind is written as that name.
func declarable(k *provision.Kind, name string) bool {
	for _, f := range k.Fields {
		wire := f.Wire
		if wire == "" {
			wire = f.Name
		}
		if wire == name {
			return true
		}
	}
	return false
}
