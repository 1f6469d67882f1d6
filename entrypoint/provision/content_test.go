package provision_test

import (
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
)

// A file's content may stand in the provision file, in one form only; what it must be, it must be there too.
func TestContentInText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "s.sh", "echo")
	template := "[[template]]\nname = \"t\"\nforge = \"gitea\"\nos_type = \"linux\"\n"
	for text, want := range map[string]string{
		template + "data = \"echo\"\n":                  "",
		template + "file = \"s.sh\"\n":                  "",
		template + "data = \"\"\n":                      "all.toml:5: data: it is empty",
		template + "data = 5\n":                         "all.toml:5: data: it must be a string",
		template + "data = \"echo\"\nfile = \"s.sh\"\n": "all.toml:6: set one of file and data",
		template + "file = \"s.sh\"\ndata = \"echo\"\n": "all.toml:6: set one of file and data",
		template: "template t needs file: ",
		"[controller]\nca_cert_bundle = \"no PEM\"\n": "all.toml:2: ca_cert_bundle: it holds no PEM certificate",
	} {
		declared, err := provision.Load([]string{write(t, dir, "all.toml", text)}, provision.Sources{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s\n%v", text, err)
		case want == "" && declared.Objects[0].Values["file"] != "echo":
			t.Errorf("%s\n%v", text, declared.Objects[0].Values)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s\n%v\ninstead of %s", text, err, want)
		}
	}
}

// Secrets that do not exist yet are faults, but where a comparison is all that is wanted. What is wrong with one that
// exists is a fault always.
func TestIncompleteSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "empty", "")
	credentials := "[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\n"
	for text, tolerated := range map[string]bool{
		credentials + "token_file = \"no\"\n":                                        true,
		credentials + "token_env = \"NO\"\n":                                         true,
		credentials + "app_id = 0\ninstallation_id = 1\nprivate_key_file = \"no\"\n": true,
		credentials + "token_file = \"empty\"\n":                                     false,
		credentials + "token_file = \".\"\n":                                         false,
		credentials:                                                                  false,
	} {
		path := write(t, dir, "all.toml", text)
		if _, err := provision.Load([]string{path}, provision.Sources{}); err == nil {
			t.Errorf("complete?\n%s", text)
		}
		declared, err := provision.Load([]string{path}, provision.Sources{Incomplete: true})
		if tolerated != (err == nil) {
			t.Errorf("for a comparison: %v\n%s", err, text)
		}
		if tolerated && (len(declared.Incomplete()) == 0 || len(declared.Incomplete()) != len(declared.Warnings)) {
			t.Errorf("%q and %q\n%s", declared.Incomplete(), declared.Warnings, text)
		}
	}
}
