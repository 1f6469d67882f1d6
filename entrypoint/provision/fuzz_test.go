package provision_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/provision"
)

// Whatever stands in a file, Load ends, with objects or with faults that have a place in the file and say something. What it
// takes can be compared with a server.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"", "x", "[controller]\nagent_url = \"http://x\"\n", "[[endpoint]]\nname = \"x\"\nforge = \"gitea\"\nbase_url = \"http://x\"\n",
		"[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken = \"x\"\n[[repository]]\nowner = \"o\"\nname = \"r\"\ncredentials = \"c\"\nwebhook = \"install\"\n" +
			"[[repository.pool]]\nname = \"p\"\n" + aPool + "extra_specs = {a = [1, {b = 1979-05-27}], c.d = nan}\n",
		"repository = [[]]\n", "repository = [{pool = [{}]}]\n", "[repository.pool]\n[[repository]]\n", "a.b.c = 1\n[a.b]\n", "[[repository]]\n[repository.pool.x]\n",
		"[[credentials]]\nname = \"c\"\nendpoint = \"e\"\ntoken_file = \"/dev/zero\"\n", "controller = {}\n", "controller = []\n", "\xef\xbb\xbf[controller]\n", "controller.\"\" = 1\n",
		"[[organization]]\nname = \"o\"\ncredentials = \"x\"\n[[organization.scale_set]]\nname = \"s\"\nextra_specs = '{\"a\": 1e999}'\n",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "a.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		declared, err := provision.Load([]string{path}, provision.Sources{})
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		if err != nil {
			checkFaults(t, err, path)
			return
		}
		fake := newFakeAPI()
		observed, err := provision.Observe(t.Context(), fake, declared, provision.NewMemory())
		if err != nil {
			t.Fatal(err)
		}
		provision.NewPlan(declared, observed, provision.NewMemory(), provision.PlanOptions{})
	})
}

func checkFaults(t *testing.T, err error, path string) {
	t.Helper()
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		t.Fatalf("no list of faults: %v", err)
	}
	for _, one := range joined.Unwrap() {
		var fault *provision.Fault
		if !errors.As(one, &fault) || fault.Place.File != path || strings.TrimSpace(fault.Text) == "" {
			t.Errorf("fault %#v", one)
		} else if fault.Place.Line < 1 {
			t.Errorf("no line: %v", fault)
		}
	}
}
