package provision_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
)

// parse reads files, given by name, as a directory. Its faults and warnings come without the directory's name.
func parse(t *testing.T, variables map[string]string, files map[string]string) (declared *provision.Declared, faults []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		write(t, dir, name, text)
	}
	declared, err := provision.Load([]string{dir}, provision.Sources{Variable: func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok
	}})
	if err != nil {
		faults = strings.Split(strings.ReplaceAll(err.Error(), dir+"/", ""), "\n")
	}
	return declared, faults, dir
}

// expectFaults compares faults, each by what it must contain.
func expectFaults(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d faults, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for n := range want {
		place, text, _ := strings.Cut(want[n], " ")
		if !strings.HasPrefix(got[n], "cannot use "+place+": ") || !strings.Contains(got[n], text) {
			t.Errorf("fault %d is %q, want it at %s with %q", n, got[n], place, text)
		}
	}
}

const aPool = `provider = "p"
image = "i"
flavor = "f"
tags = ["x"]
max_runners = 1
`

// Each fault has its file and line and says what to write instead.
func TestFaults(t *testing.T) {
	t.Parallel()
	repository := "[[repository]]\nowner = \"o\"\nname = \"r\"\ncredentials = \"bot\"\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"no TOML":           {"[[pool]\n", []string{`a.toml:1 it is not TOML`}},
		"a key twice":       {"[controller]\nagent_url = \"http://a\"\nagent_url = \"http://b\"\n", []string{`a.toml:3 it is not TOML`}},
		"unknown table":     {"\n[[runner]]\nname = \"x\"\n", []string{`a.toml:2 unknown key "runner"; there are controller, endpoint,`}},
		"a pool at the top": {"[[pool]]\nname = \"x\"\n", []string{`a.toml:1 unknown key "pool"`}},
		"derived kind":      {repository + "[[repository.webhook]]\n", []string{`a.toml:5 webhook: it must be a string`}},
		"unknown key":       {"[controller]\n\nminimum_job_age = 1\n", []string{`a.toml:3 unknown key "minimum_job_age" in controller; there are metadata_url,`}},
		"unknown key in a pool": {repository + "[[repository.pool]]\nname = \"p\"\n" + aPool + "imgae = \"i\"\n",
			[]string{`a.toml:12 unknown key "imgae" in pool`}},
		"a field of another kind": {"[[template]]\nname = \"t\"\nforge = \"gitea\"\nos_type = \"linux\"\nfile = \"f\"\nflavor = \"x\"\n",
			[]string{`a.toml:5 file: cannot read`, `a.toml:6 unknown key "flavor" in template`}},
		"wrong types": {repository + "agent_mode = 1\npool_balancer_type = true\n[[repository.pool]]\nname = \"p\"\nprovider = \"p\"\nimage = [\"i\"]\nflavor = 3\ntags = \"x\"\nmax_runners = \"1\"\nmin_idle_runners = -1\nextra_specs = [1]\nrunner_bootstrap_timeout = 1.5\n",
			[]string{`a.toml:5 agent_mode: it must be a true or false`, `a.toml:6 pool_balancer_type: it must be a string`, `a.toml:10 image: it must be a string`,
				`a.toml:11 flavor: it must be a string`, `a.toml:12 tags: it must be a list of strings`, `a.toml:13 max_runners: it must be a whole number`,
				`a.toml:14 min_idle_runners: it must be a whole number`, `a.toml:15 extra_specs: it must be a table`, `a.toml:16 runner_bootstrap_timeout: it must be a whole number`}},
		"mixed list":         {repository + "[[repository.pool]]\nname = \"p\"\n" + strings.Replace(aPool, `["x"]`, `["x", 1]`, 1), []string{`a.toml:10 tags: it must be a list of strings`}},
		"a table for a list": {"[endpoint]\nname = \"x\"\n", []string{`a.toml:1 endpoint is a list of tables: write [[endpoint]]`}},
		"a list for a table": {"[[controller]]\n", []string{`a.toml:1 controller is one table: write [controller]`}},
		"a value for a list": {"repository = 3\n", []string{`a.toml:1 repository is a list of tables: write [[repository]]`}},
		"a nested table for a list": {repository + "[repository.pool]\nname = \"p\"\n",
			[]string{`a.toml:5 pool is a list of tables: write [[repository.pool]]`}},
		"missing keys": {"\n[[repository]]\n  [[repository.pool]]\n", []string{`a.toml:2 needs owner`, `a.toml:2 needs name`, `a.toml:2 needs credentials`,
			`a.toml:3 needs name`, `a.toml:3 needs tags`, `a.toml:3 needs provider`, `a.toml:3 needs image`, `a.toml:3 needs flavor`, `a.toml:3 needs max_runners`}},
		"endpoint":   {"[[endpoint]]\nname = \"a b\"\nforge = \"gitlab\"\n", []string{`a.toml:1 needs base_url`, `a.toml:2 "a b": letters, digits`, `a.toml:3 "gitlab" is none of "github", "gitea"`}},
		"github.com": {"[[endpoint]]\nname = \"github.com\"\nforge = \"gitea\"\n", []string{`a.toml:3 github.com is built in`}},
		"URLs":       {"[controller]\nmetadata_url = \"ftp://x\"\ncallback_url = \"\"\nwebhook_url = \"https://\"\nagent_url = \"https://u:p@x\"\n", []string{`a.toml:2 it must begin with`, `a.toml:3 it must begin with`, `a.toml:4 it names no host`, `a.toml:5 it must hold no user`}},
		"long names": {"[[endpoint]]\nname = \"" + strings.Repeat("x", 65) + "\"\nforge = \"gitea\"\nbase_url = \"http://x\"\n[[template]]\nname = \"" + strings.Repeat("x", 256) +
			"\"\nforge = \"gitea\"\nos_type = \"linux\"\n", []string{`a.toml:2 at most 64`, `a.toml:5 needs file`, `a.toml:6 at most 255 bytes`}},
		"prefixes": {repository + "[[repository.pool]]\nname = \"p q\"\n" + aPool + "[[repository.pool]]\nname = \"" + strings.Repeat("x", 51) + "\"\n" + aPool,
			[]string{`a.toml:6 dashes within, at most 50`, `a.toml:13 dashes within, at most 50`}},
		"more idle than all": {repository + "[[repository.pool]]\nname = \"p\"\nmin_idle_runners = 2\n" + aPool, []string{`a.toml:7 min_idle_runners is 2, more than max_runners, 1`}},
		"tags": {repository + "[[repository.pool]]\nname = \"p\"\n" + strings.Replace(aPool, `["x"]`, `["x", "X"]`, 1) + "[[repository.pool]]\nname = \"q\"\n" + strings.Replace(aPool, `["x"]`, `[]`, 1) +
			"[[repository.pool]]\nname = \"r\"\n" + strings.Replace(aPool, `["x"]`, `[""]`, 1),
			[]string{`a.toml:10 a tag stands there twice`, `a.toml:17 at least one`, `a.toml:24 a tag is empty`}},
		"prefix without id": {repository + "[[repository.pool]]\nname = \"p\"\nrunner_prefix = \"q\"\n" + aPool, []string{`a.toml:7 runner_prefix goes with id only`}},
		"zero timeout":      {repository + "[[repository.pool]]\nname = \"p\"\nrunner_bootstrap_timeout = 0\n" + aPool, []string{`a.toml:7 it must be at least 1`}},
		"JSON": {repository + "[[repository.pool]]\nname = \"p\"\nextra_specs = '{'\n" + aPool + "[[repository.pool]]\nname = \"q\"\nextra_specs = '[1]'\n" + aPool,
			[]string{`a.toml:7 a string that holds JSON`, `a.toml:15 its JSON must be an object or null`}},
		"manual webhook":   {repository + "webhook = \"manual\"\n", []string{`a.toml:5 needs webhook_secret_file`}},
		"webhook":          {repository + "webhook = \"auto\"\n", []string{`a.toml:5 "auto" is none of "install", "manual"`}},
		"entity names":     {"[[organization]]\nname = \"a/b\"\ncredentials = \"bot\"\n", []string{`a.toml:2 neither blanks nor slashes`}},
		"no way to log in": {"[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\n", []string{`a.toml:1 need token_file`}},
		"two ways to log in": {"[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken = \"x\"\napp_id = 1\n",
			[]string{`a.toml:1 a token and an App`}},
		"half an App": {"[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\napp_id = 1\n", []string{`a.toml:1 an App needs app_id, installation_id`}},
		"inline tables": {"endpoint = [{name = \"a\", forge = \"gitea\", base_url = \"http://a\"}, {name = \"b\", froge = \"gitea\", base_url = \"x\"}]\n",
			[]string{`a.toml:1 it must begin with`, `a.toml:1 unknown key "froge"`, `a.toml:1 endpoint b needs forge`}},
		"dotted keys": {"controller.agent_url = 3\n", []string{`a.toml:1 agent_url: it must be a string`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got, _ := parse(t, nil, map[string]string{"a.toml": c.text})
			expectFaults(t, got, c.want)
		})
	}
}

// What is declared twice names both places; without regard to case where garm knows none, and in two files too.
func TestDeclaredTwice(t *testing.T) {
	t.Parallel()
	credentials := "[[credentials]]\nname = \"bot\"\nendpoint = \"github.com\"\ntoken = \"x\"\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"two files": {map[string]string{"a.toml": "\n[[endpoint]]\nname = \"x\"\nforge = \"gitea\"\nbase_url = \"http://x\"\n", "b.toml": "[[endpoint]]\nname = \"x\"\nforge = \"github\"\nbase_url = \"http://x\"\n"},
			[]string{`b.toml:1 endpoint x is declared twice: here and at a.toml:2`}},
		"case": {map[string]string{"a.toml": credentials + "[[repository]]\nowner = \"Acme\"\nname = \"web\"\ncredentials = \"bot\"\n", "b.toml": "[[repository]]\nowner = \"acme\"\nname = \"Web\"\ncredentials = \"bot\"\n"},
			[]string{`b.toml:1 repository acme/Web is declared twice: here and at a.toml:5`}},
		"controller":  {map[string]string{"a.toml": "[controller]\n", "b.toml": "[controller]\n"}, []string{`b.toml:1 controller is declared twice: here and at a.toml:1`}},
		"credentials": {map[string]string{"a.toml": credentials, "b.toml": credentials}, []string{`b.toml:1 credentials bot is declared twice: here and at a.toml:1`}},
		"pools": {map[string]string{"a.toml": credentials + "[[organization]]\nname = \"o\"\ncredentials = \"bot\"\n[[organization.pool]]\nname = \"p\"\n" + aPool + "[[organization.pool]]\nname = \"p\"\n" + aPool},
			[]string{`a.toml:15 pool p of organization o is declared twice: here and at a.toml:8`}},
		"entities whose credentials the server has": {map[string]string{"a.toml": "[[organization]]\nname = \"o\"\ncredentials = \"theirs\"\n[[organization]]\nname = \"O\"\ncredentials = \"theirs\"\n"},
			[]string{`a.toml:4 organization O is declared twice: here and at a.toml:1`}},
		"pools of those": {map[string]string{"a.toml": "[[organization]]\nname = \"o\"\ncredentials = \"theirs\"\n[[organization.pool]]\nname = \"p\"\n" + aPool + "[[organization.pool]]\nname = \"p\"\n" + aPool},
			[]string{`a.toml:11 pool p of organization o is declared twice: here and at a.toml:4`}},
		"one pool adopted twice": {map[string]string{"a.toml": credentials + "[[organization]]\nname = \"o\"\ncredentials = \"bot\"\n[[organization.pool]]\nname = \"p\"\nid = \"1\"\n" + aPool + "[[organization.pool]]\nname = \"q\"\nid = \"1\"\n" + aPool},
			[]string{`a.toml:16 pool q of organization o is declared twice: here and at a.toml:8`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, got, _ := parse(t, nil, c.files)
			expectFaults(t, got, c.want)
		})
	}
}

// The same key of several forges, kinds or entities is no double.
func TestNotTwice(t *testing.T) {
	t.Parallel()
	_, faults, _ := parse(t, nil, map[string]string{"a.toml": `
[[endpoint]]
name = "gitea"
forge = "gitea"
base_url = "http://x"
[[credentials]]
name = "bot"
endpoint = "gitea"
token = "x"
[[credentials]]
name = "bot"
endpoint = "github.com"
token = "x"
[[organization]]
name = "acme"
credentials = "bot"
forge = "gitea"
[[organization.pool]]
name = "p"
` + aPool + `
[[organization]]
name = "acme"
credentials = "bot"
forge = "github"
[[organization.pool]]
name = "p"
` + aPool + `
[[organization.scale_set]]
name = "p"
` + strings.Replace(aPool, `tags = ["x"]`, "", 1)})
	if faults != nil {
		t.Error(strings.Join(faults, "\n"))
	}
}

// All faults of all files come at once, in the order of files and lines.
func TestFaultsInOrder(t *testing.T) {
	t.Parallel()
	_, got, _ := parse(t, nil, map[string]string{
		"10.toml": "[controller]\nx = 1\nagent_url = 2\n",
		"20.toml": "broken\n",
		"05.toml": "[[template]]\nname = \"t\"\nforge = \"x\"\nos_type = \"beos\"\nfile = \"none\"\n",
		"30.toml": "[controller]\n",
	})
	expectFaults(t, got, []string{`05.toml:3 "x" is none of`, `05.toml:4 "beos" is none of`, `05.toml:5 cannot read`,
		`10.toml:2 unknown key "x"`, `10.toml:3 it must be a string`, `20.toml:1 it is not TOML`, `30.toml:1 declared twice: here and at 10.toml:1`})
}

// Files of a directory are read in the order of their names; what is no *.toml, or begins with a dot, is not read.
func TestFilesOfDirectory(t *testing.T) {
	t.Parallel()
	organization := func(name string) string { return "[[organization]]\nname = \"" + name + "\"\ncredentials = \"c\"\n" }
	declared, faults, dir := parse(t, nil, map[string]string{"b.toml": organization("b"), "a.toml": organization("a"),
		"c.toml.bak": "broken", ".hidden.toml": "broken", "README": "broken", "sub/d.toml": "broken"})
	if faults != nil {
		t.Fatal(faults)
	}
	if len(declared.Objects) != 2 || declared.Objects[0].Name != "a" || declared.Objects[1].Name != "b" {
		t.Errorf("declared: %v", labels(declared))
	}
	// As Kubernetes mounts a ConfigMap: links into a directory that is itself a link.
	mount := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(mount, "..data")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.toml", "b.toml"} {
		if err := os.Symlink("..data/"+name, filepath.Join(mount, name)); err != nil {
			t.Fatal(err)
		}
	}
	linked, err := provision.Load([]string{mount}, provision.Sources{})
	if err != nil || len(linked.Objects) != 2 {
		t.Errorf("through links: %v %v", labels(linked), err)
	}
}

func labels(d *provision.Declared) (all []string) {
	for _, o := range d.Objects {
		all = append(all, o.Label())
	}
	return all
}

// What cannot be read is a fault and blocks nobody.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "big", strings.Repeat("x", 64<<10+1))
	write(t, dir, "big.toml", strings.Repeat("#", 4<<20+1))
	for name, c := range map[string]struct{ path, text, want string }{
		"missing":         {filepath.Join(dir, "none.toml"), "", "no such file"},
		"a device":        {"/dev/zero", "", "not a regular file"},
		"too long":        {filepath.Join(dir, "big.toml"), "", "longer than"},
		"secret missing":  {"", "none", "no such file"},
		"secret a device": {"", "/dev/zero", "not a regular file"},
		"secret too long": {"", filepath.Join(dir, "big"), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := c.path
			if path == "" {
				path = write(t, t.TempDir(), "a.toml", fmt.Sprintf("[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken_file = %q\n", c.text))
			}
			if _, err := provision.Load([]string{path}, provision.Sources{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
