package garmconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/internal/testgarm"
)

// Our verdict on [[provider]] sections is that of the real garm, and each fault names the provider and what is wrong.
func TestProviderVerdictIsGarms(t *testing.T) {
	t.Parallel()
	const good = "[[provider]]\nname = 'p'\nprovider_type = 'external'\n[provider.external]\nprovider_executable = 'DIR/program'\n"
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the provider has no %q", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	const program = "provider_executable = 'DIR/program'"
	for _, c := range []struct {
		name, text string
		fault      string // "": garm serves
		warning    string
	}{
		{"good", good, "", ""},
		{"none", "provider = []", "", ""},
		{"inline", "", "", ""}, // see below
		{"two", good + strings.Replace(good, "'p'", "'q'", 1), "", ""},
		{"name twice", good + good, `provider "p": name is there twice`, ""},
		{"names in other case", good + strings.Replace(good, "'p'", "'P'", 1), "", ""},
		{"name missing", edit("name = 'p'", ""), `provider 1: name is missing`, ""},
		{"name a number", edit("'p'", "5"), `provider 1: name must be a string`, ""},
		{"old lxd", edit("'external'", "'lxd'"), `provider "p": provider_type "lxd" is not known: set it to "external"`, ""},
		{"type in upper case", edit("'external'", "'External'"), `provider "p": provider_type "External" is not known`, ""},
		{"type missing", edit("provider_type = 'external'", ""), `provider "p": provider_type is missing`, ""},
		{"executable missing", edit(program, ""), `provider "p": external.provider_executable is missing`, ""},
		{"external missing", edit("[provider.external]\n"+program, ""), `provider "p": external.provider_executable is missing`, ""},
		{"external a text", edit("[provider.external]\n"+program, "external = 'DIR/program'"), `provider "p": external is no table`, ""},
		{"executable relative", edit("DIR/program", "program"), `provider "p": external.provider_executable "program" must be an absolute path`, ""},
		{"executable not there", edit("DIR/program", "DIR/none"), `provider "p": external.provider_executable DIR/none: no such file or directory`, ""},
		{"executable without x", edit("DIR/program", "DIR/plain"), `provider "p": external.provider_executable DIR/plain is not executable`, ""},
		{"executable a directory", edit("DIR/program", "DIR/d"), "", `provider "p": external.provider_executable DIR/d is no file`},
		{"executable empty", edit("DIR/program", "DIR/empty"), "", `provider "p": external.provider_executable DIR/empty is empty`},
		{"directory", edit(program, "provider_dir = 'DIR/d'"), "", ""},
		{"directory without it", edit(program, "provider_dir = 'DIR'"), `provider "p": external.provider_dir DIR/garm-external-provider: no such file`, ""},
		{"executable wins", edit(program, program+"\nprovider_dir = 'nowhere'"), "", ""},
		{"config", edit(program, program+"\nconfig_file = 'DIR/plain'"), "", ""},
		{"config relative", edit(program, program+"\nconfig_file = 'plain'"), `provider "p": external.config_file "plain" must be an absolute path`, ""},
		{"config not there", edit(program, program+"\nconfig_file = 'DIR/none'"), `provider "p": external.config_file DIR/none: no such file or directory`, ""},
		{"config a directory", edit(program, program+"\nconfig_file = 'DIR/d'"), "", `provider "p": external.config_file DIR/d is a directory`},
		{"version 0.1.0", edit(program, program+"\ninterface_version = 'v0.1.0'"), "", ""},
		{"version 0.1.1", edit(program, program+"\ninterface_version = 'v0.1.1'"), "", ""},
		{"version empty", edit(program, program+"\ninterface_version = ''"), "", ""},
		{"version unknown", edit(program, program+"\ninterface_version = '0.1.1'"), `provider "p": external.interface_version "0.1.1" is not known`, ""},
		{"variables", edit(program, program+"\nenvironment_variables = ['A', 'B']"), "", ""},
		{"variables a text", edit(program, program+"\nenvironment_variables = 'A'"), `provider "p": external.environment_variables must be a list`, ""},
		{"variables numbers", edit(program, program+"\nenvironment_variables = [1]"), `provider "p": external.environment_variables must be a list`, ""},
		{"jit a text", edit("name = 'p'", "name = 'p'\ndisable_jit_config = 'no'"), `provider "p": disable_jit_config must be true or false`, ""},
		{"description a number", edit("name = 'p'", "name = 'p'\ndescription = 1"), `provider "p": description must be a string`, ""},
		{"one table", strings.ReplaceAll(good, "[[provider]]", "[provider]"), "provider is no list of tables", ""},
		{"upper case", strings.NewReplacer("[[provider]]", "[[Provider]]", "name", "NAME", "[provider.", "[Provider.").Replace(good), "", ""},
		{"placeholder", edit("DIR/program", "${PROVIDER}"), `external.provider_executable holds the placeholder ${PROVIDER}, which nobody has filled in (garm replaces nothing in its config): "${PROVIDER}" must be`, ""},
	} {
		if c.name == "inline" {
			c.text = "provider = [{name = 'p', provider_type = 'external', external = {provider_executable = 'DIR/program'}}]"
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.Mkdir(dir+"/d", 0o755), os.WriteFile(dir+"/program", []byte("#!/bin/sh\n"), 0o755),
				os.WriteFile(dir+"/plain", nil, 0o644), os.WriteFile(dir+"/empty", nil, 0o755),
				os.WriteFile(dir+"/d/garm-external-provider", []byte("#!/bin/sh\n"), 0o755))
			inDir := func(text string) string { return strings.ReplaceAll(text, "DIR", dir) }
			path := testgarm.Config(t, dir)
			data, err := os.ReadFile(path)
			must(t, err)
			text := inDir(c.text)
			if strings.HasPrefix(text, "provider =") { // a key of the root stands before all tables
				data = []byte(text + "\n" + string(data))
			} else {
				data = append(data, text...)
			}
			must(t, os.WriteFile(path, data, 0o600))
			config, err := garmconfig.Load(path)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), inDir(c.fault)) {
					t.Errorf("our verdict: %v\nwant %s", err, inDir(c.fault))
				}
				if code := testgarm.Start(t, testgarm.Garm(t), []string{"--config", path}, nil).Wait(30 * time.Second); code != 1 {
					t.Errorf("garm ended with %d", code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(config.Warnings, "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, inDir(c.warning)) {
				t.Errorf("got warnings %q, want %q", got, c.warning)
			}
			testgarm.StartGarm(t, path)
		})
	}
}

// All faults come in the order of the file, at every look.
func TestFaultsInOrderOfFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	must(t, os.WriteFile(path, []byte(`[[provider]]
name = "a"
provider_type = "lxd"
[[provider]]
provider_type = "external"
external = {provider_executable = "x"}
[database]
passphrase = "short"
backend = "oracle"
[default]
webhook_url = "x"
metadata_url = "x"
callback_url = "x"
[apiserver]
use_tls = true
bind = "x"
[jwt_auth]
secret = ""
`), 0o600))
	want := []string{`provider "a": external.provider_executable`, `provider "a": provider_type`, `provider 2: name`,
		`provider 2: external.provider_executable`, "database.passphrase", "database.backend", "default.webhook_url", "default.metadata_url",
		"default.callback_url", "apiserver.port", "apiserver.tls.certificate", "apiserver.tls.key", "apiserver.bind", "jwt_auth.time_to_live", "jwt_auth.secret"}
	for range 20 {
		_, err := garmconfig.Load(path)
		if err == nil {
			t.Fatal("no fault")
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(want) {
			t.Fatalf("got %d faults, want %d:\n%v", len(lines), len(want), err)
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, path+": "+want[i]+" ") {
				t.Fatalf("fault %d is not of %s:\n%v", i, want[i], err)
			}
		}
	}
}

// A template that nobody filled in is named as such: refused where garm would refuse it or nothing depends on it yet,
// else a warning. A secret that merely looks a little like one is left alone and never shown.
func TestPlaceholders(t *testing.T) {
	t.Parallel()
	const secret, passphrase = `secret = "` + testgarm.JWTSecret + `"`, testgarm.Passphrase
	for _, c := range []struct{ name, old, new, key, placeholder string }{
		{"secret", secret, `secret = "${JWT_AUTH_SECRET}"`, "jwt_auth.secret", "${JWT_AUTH_SECRET}"},
		{"secret by hand", secret, `secret = "change-me-please"`, "jwt_auth.secret", "change-me"},
		{"secret of the shell", secret, `secret = "$JWT_SECRET"`, "jwt_auth.secret", "$JWT_SECRET"},
		{"secret of Helm", secret, `secret = "{{ .Values.secret }}"`, "jwt_auth.secret", "{{ .Values.secret }}"},
		{"secret in words", secret, `secret = "<a random string>"`, "jwt_auth.secret", "<a random string>"},
		{"passphrase", passphrase, "@PASSPHRASE@", "database.passphrase", "@PASSPHRASE@"},
		{"passphrase CHANGEME", passphrase, "CHANGEMECHANGEMECHANGEMECHANGEME", "database.passphrase", "CHANGEME"},
		{"url", "[default]", "[default]\nmetadata_url = '${GARM_BASE_URL}/api/v1/metadata'", "default.metadata_url", "${GARM_BASE_URL}"},
		{"url with scheme", "[default]", "[default]\nmetadata_url = 'https://@HOST@/api/v1/metadata'", "default.metadata_url", "@HOST@"},
		{"a good secret", secret, `secret = "a${b}{{c}}@DEF@x<y>9$QWE"`, "", ""},
		{"good", "", "", "", ""},
	} {
		dir := t.TempDir()
		path := testgarm.Config(t, dir)
		data, err := os.ReadFile(path)
		must(t, err)
		if !strings.Contains(string(data), c.old) {
			t.Fatalf("%s: the config has no %q", c.name, c.old)
		}
		must(t, os.WriteFile(path, []byte(strings.Replace(string(data), c.old, c.new, 1)), 0o600))
		config, err := garmconfig.Load(path)
		if c.key == "" {
			if err != nil || len(config.Warnings) > 0 {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		want := path + ": " + c.key + " holds the placeholder " + c.placeholder + ", which nobody has filled in"
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s, new database:\n got %v\nwant %s", c.name, err, want)
		}
		must(t, os.WriteFile(dir+"/garm.db", []byte("x"), 0o600))
		if config, err := garmconfig.Load(path); err == nil && (len(config.Warnings) != 1 || !strings.HasPrefix(config.Warnings[0], want)) {
			t.Errorf("%s, database in use: warnings %q", c.name, config.Warnings)
		} else if err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s, database in use: %v", c.name, err)
		}
	}
}
