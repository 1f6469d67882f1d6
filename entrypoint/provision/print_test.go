package provision

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// What is printed is read back as it was.
func TestPrintedValues(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "a\nb", "\nfirst line empty\n", "'''", "it's", `"quoted" \ back`, "\r\n", "\x00\x1f\x7f", "é 管", "ends with '", "\"\"\"\"", "\t"}
	for _, s := range texts {
		for form, write := range map[string]func(string) string{
			"quoted":  quoted,
			"textual": func(s string) string { text, _ := textual(s); return text },
		} {
			var back map[string]any
			if err := toml.Unmarshal([]byte("v = "+write(s)), &back); err != nil || back["v"] != s {
				t.Errorf("%s: %q came back as %q (%v)", form, s, back["v"], err)
			}
		}
	}
	if _, err := textual("\xff"); err == nil {
		t.Error("what is no UTF-8 was printed")
	}
	for json, want := range map[string]string{
		`{}`:                           `{}`,
		`{"a":1,"b":1.5,"c":"x"}`:      `{a = 1, b = 1.5, c = 'x'}`,
		`{"a":{"b":[1,"x",[true]]}}`:   `{a = {b = [1, 'x', [true]]}}`,
		`{"odd key":"it's\n\"so\""}`:   ``,
		`{"a":null}`:                   `'{"a":null}'`,
		`{"a":[{"b":null}],"c":"'"}`:   `"{\"a\":[{\"b\":null}],\"c\":\"'\"}"`,
		`{"big":12345678901234567890}`: ``,
		`{"a":1e300,"b":-0.5}`:         ``,
	} {
		value, err := jsonOf(json)
		if err != nil {
			t.Fatal(err)
		}
		got := inlineTable(value)
		if want != "" && got != want {
			t.Errorf("%s is printed as %s, not %s", json, got, want)
		}
		var raw map[string]any
		if err := toml.Unmarshal([]byte("v = "+got), &raw); err != nil {
			t.Errorf("%s is printed as %s: %v", json, got, err)
			continue
		}
		if back, err := JSON.check(raw["v"]); err != nil || !reflect.DeepEqual(back, value) {
			t.Errorf("%s is printed as %s, and read as %v (%v)", json, got, back, err)
		}
	}
}

// A field that no file can hold is left alone, an object that needs it stands there as a comment, with all in it, and
// asks for no secret.
func TestPrintedReasons(t *testing.T) {
	t.Parallel()
	p := &printer{}
	o := &printed{kind: credentialsKind, label: "credentials a", header: "credentials", values: map[string]any{"name": "a", "endpoint": "a b/c"}}
	p.secret(o, "a b/c", "token")
	p.print(o)
	p.print(&printed{kind: endpointKind, label: "endpoint b", header: "endpoint",
		values: map[string]any{"name": "b", "forge": "gitea", "base_url": "https://b", "tools_metadata_url": "ftp://x", "ca_cert_file": "no PEM\nat all"}})
	p.print(&printed{kind: repositoryKind, label: "repository a/b", header: "repository", values: map[string]any{"owner": "a", "name": "", "credentials": "b"}})
	p.print(&printed{kind: poolKind, label: "pool c", header: "repository.pool", depth: 1, values: map[string]any{"name": "c"}})
	e := p.finish("# head\n")
	if len(e.Secrets) != 0 || len(e.Left) != 5 {
		t.Errorf("secrets %q, left out %q", e.Secrets, e.Left)
	}
	var back map[string]any
	if err := toml.Unmarshal(e.Text, &back); err != nil {
		t.Fatalf("%v in\n%s", err, e.Text)
	}
	want := map[string]any{"endpoint": []any{map[string]any{"name": "b", "forge": "gitea", "base_url": "https://b"}}}
	if !reflect.DeepEqual(back, want) {
		t.Errorf("declared is %v in\n%s", back, e.Text)
	}
	for _, said := range []string{"# [[credentials]]", "# endpoint = \"a b/c\"", "  # [[repository.pool]]", "# ca_cert_file is left alone", "what it belongs to cannot be declared"} {
		if !strings.Contains(string(e.Text), said) {
			t.Errorf("%q is not in\n%s", said, e.Text)
		}
	}
}

// Pools that share a prefix get names of their own, in no other pool's way.
func TestFreeNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", maxPrefix)
	names, given := map[string]bool{"garm": true, "garm-2": true, long: true}, map[string]bool{}
	for _, c := range []struct{ own, want string }{
		{"garm", "garm"}, {"garm", "garm-3"}, {"garm-2", "garm-2"}, {"garm", "garm-4"}, {long, long}, {long, long[:maxPrefix-2] + "-2"}, {"a b", "a-b"}, {"", "pool"}, {"  ", "pool-2"},
	} {
		got := freeName(prefixOf(c.own), c.own, given, names)
		given[got] = true
		if got != c.want || validPrefix(got) != nil {
			t.Errorf("%q is named %q, not %q", c.own, got, c.want)
		}
	}
}
