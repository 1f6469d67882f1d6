package provision_test

import (
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
)

// Values reach garm as they stand in the file, to the last character and digit, and what comes back in another spelling
// is no difference.
func TestValuesUnchanged(t *testing.T) {
	t.Parallel()
	printable := ""
	for r := rune(' '); r < 0x7f; r++ {
		printable += string(r)
	}
	printable += "äöü管理🔑\t$HOME ${X} %s {{.}}"
	for name, c := range map[string]struct {
		specs, sent string // as declared, and as garm is sent it
		seen        string // as garm shows it; nothing differs then
	}{
		"big number": {`{ n = 9007199254740993 }`, `{"n":9007199254740993}`, `{"n": 9007199254740993}`},
		"float":      {`{ n = 2.50, m = 1.0 }`, `{"m":1,"n":2.5}`, `{"m":1.0,"n":2.5}`},
		"big in JSON": {`'{"n": 123456789012345678901234567890, "f": 1e3}'`, `{"f":1000,"n":123456789012345678901234567890}`,
			`{"f":1000,"n":123456789012345678901234567890}`},
		"null":         {`'null'`, ``, `null`},
		"empty":        {`{}`, `{}`, `{}`},
		"null within":  {`'{"a":null}'`, `{"a":null}`, `{"a":null}`},
		"dates":        {`{ d = 1979-05-27 }`, `{"d":"1979-05-27"}`, `{"d":"1979-05-27"}`},
		"nested":       {`{ a = [1, [true, "x"], {b = "c"}] }`, `{"a":[1,[true,"x"],{"b":"c"}]}`, `{"a":[1,[true,"x"],{"b":"c"}]}`},
		"HTML in JSON": {`{ a = "<&>" }`, `{"a":"<&>"}`, `{"a":"\u003c\u0026\u003e"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := repositoryHead + strings.Replace(poolText("small", "extra_specs = "+c.specs+"\n"), `"i"`, tomlString(printable), 1)
			declared := load(t, write(t, t.TempDir(), "a.toml", text))
			f := withPool()
			f.apply(t, provision.NewMemory(), declared, provision.PlanOptions{})
			image, specs := "", ""
			for _, w := range f.written {
				if strings.HasSuffix(w.path, "/pools") {
					image, _ = w.body["image"].(string)
					specs = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(w.raw["extra_specs"])
				}
			}
			if image != printable {
				t.Errorf("sent %q, want %q", image, printable)
			}
			if specs != c.sent {
				t.Errorf("sent %s, want %s", specs, c.sent)
			}
			one := strings.Replace(pool("p1", "small", `,"extra_specs":`+c.seen), `"image":"i"`, `"image":`+jsonString(printable), 1)
			f = withPool(one)
			f.answers["/pools/p1"] = one
			if got := summary(f.planOf(t, provision.NewMemory(), declared, provision.PlanOptions{})); got != "~ credentials bot token" {
				t.Errorf("what garm shows differs: %s", got)
			}
		})
	}
}
