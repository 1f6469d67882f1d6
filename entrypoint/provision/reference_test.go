package provision_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

const page = "../../docs/provisioning.md"

func readPage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The page's tables of fields are the code's own.
func TestReference(t *testing.T) {
	t.Parallel()
	want := provision.Reference()
	before, rest, opened := strings.Cut(readPage(t), "<!-- fields -->\n")
	got, after, closed := strings.Cut(rest, "<!-- /fields -->\n")
	switch {
	case !opened || !closed:
		t.Fatalf("%s has no place for the fields", page)
	case got == want:
	case *update:
		if err := os.WriteFile(page, []byte(before+"<!-- fields -->\n"+want+"<!-- /fields -->\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: the fields are not the code's; run with -update", page)
	}
	for _, k := range provision.Kinds {
		for _, f := range k.Fields {
			if !strings.Contains(want, "`"+f.Name) || f.Help == "" {
				t.Errorf("%s of %s is not there, or has no help", f.Name, k.Name)
			}
		}
	}
}

// The files that the page shows can be used as they are, together too: they declare different objects.
func TestPageFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate, _ := testgarm.KeyPair(t, dir)
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(readPage(t), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d files are shown", len(blocks))
	}
	for n, block := range blocks {
		text := strings.ReplaceAll(block[1], "gitea-ca.pem", certificate)
		write(t, dir, fmt.Sprintf("files/%d.toml", n), text)
	}
	declared, err := provision.Load([]string{dir + "/files"}, provision.Sources{Incomplete: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range declared.Warnings {
		if !strings.Contains(warning, "/run/secrets/") {
			t.Error(warning)
		}
	}
}

// What the page says about messages, the code says.
func TestPageMessages(t *testing.T) {
	t.Parallel()
	text := readPage(t)
	_, rows, _ := strings.Cut(text, "## Troubleshooting provisioning")
	said := sources(t)
	n := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(rows, -1) {
		for _, part := range regexp.MustCompile(`"[a-z0-9]*"|…|/run/\S*|v0\.1\.8| 2 |gitea endpoint`).Split(row[1], -1) {
			n++
			if part = strings.Trim(part, " ()[]:"); !strings.Contains(said, part) {
				t.Errorf("the page quotes %q, which no code says", part)
			}
		}
	}
	if n < 12 {
		t.Errorf("%d messages were looked for", n)
	}
}

// sources is the text of this package and of the commands.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{".", "..", "../boot"} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
				data, err := os.ReadFile(dir + "/" + e.Name())
				if err != nil {
					t.Fatal(err)
				}
				all.Write(data)
			}
		}
	}
	return strings.ReplaceAll(all.String(), `\"`, `"`)
}

// The files of the examples have no fault, but for the token that their users write.
func TestExampleFiles(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"compose/provision/provision.d", "kubernetes/overlays/provision/forge.toml"} {
		declared, err := provision.Load([]string{"../../examples/" + path}, provision.Sources{Incomplete: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(declared.Objects) != 5 || len(declared.Incomplete()) != 1 {
			t.Errorf("%s: %d objects, not known: %q", path, len(declared.Objects), declared.Incomplete())
		}
	}
}
