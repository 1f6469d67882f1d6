package provision

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// printed is an object on its way into a provision file.
type printed struct {
	kind   *Kind
	label  string
	header string // such as repository.pool
	depth  int
	// why no file can declare it; empty: as far as is known, one can.
	why string
	// values by the names of their fields.
	values map[string]any
	// secrets are the paths that secret fields are named by.
	secrets map[string]string
	// optional secrets stand there as comments.
	optional []string
}

// printer writes a provision file.
type printer struct {
	text    strings.Builder
	secrets []secretFile
	left    []string
	open    []string
	headers map[string]bool // commented out, with all that stands in them
}

// secretFile is a secret that the user has to write.
type secretFile struct {
	path, what string
	of         *printed
}

// unseen marks a number that garm does not show.
const unseen = unknown("unknown")

type unknown string

// secretDirectory beside the file, where the secrets that it names are expected. No *.toml is read there.
const secretDirectory = "secrets"

// secret names a secret of an object of an endpoint by a file.
func (p *printer) secret(o *printed, endpoint, field string) {
	name := secretDirectory + "/" + fileName(o.label+"-"+endpoint+"-"+field)
	path := name
	for n := 2; slices.ContainsFunc(p.secrets, func(s secretFile) bool { return s.path == path }); n++ {
		path = fmt.Sprintf("%s-%d", name, n)
	}
	p.secrets = append(p.secrets, secretFile{path, fmt.Sprintf("%s of %s at %s", field, o.label, endpoint), o})
	if o.secrets == nil {
		o.secrets = map[string]string{}
	}
	o.secrets[field] = path
}

// fileName makes a name of a file of a label.
func fileName(label string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_':
			return r
		}
		return '-'
	}, label)
}

// print writes one table. What no file can say stands there as a comment, with the reason.
func (p *printer) print(o *printed) {
	why, lines := p.lines(o)
	if o.why != "" {
		why = o.why
	}
	parent := o.header[:max(strings.LastIndex(o.header, "."), 0)]
	if parent == "" {
		p.headers = map[string]bool{}
	} else if why == "" && p.headers[parent] {
		why = "what it belongs to cannot be declared"
	}
	comment := ""
	p.headers[o.header] = why != ""
	if why != "" {
		comment = "# "
		p.secrets = slices.DeleteFunc(p.secrets, func(s secretFile) bool { return s.of == o })
		p.left = append(p.left, o.label+": "+why)
		lines = append([]string{"# " + o.label + ": " + why}, lines...)
	}
	if p.text.Len() > 0 {
		p.text.WriteByte('\n')
	}
	indent := strings.Repeat("  ", o.depth)
	for n, line := range lines {
		if n == 0 && why != "" {
			fmt.Fprintf(&p.text, "%s%s\n", indent, line)
			continue
		}
		// The lines of a text must stay as they are.
		for m, part := range strings.SplitAfter(line, "\n") {
			switch {
			case m == 0:
				p.text.WriteString(indent + comment + part)
			default:
				p.text.WriteString(comment + part)
			}
		}
		p.text.WriteByte('\n')
	}
}

// lines of a table, and why it cannot be declared; "": it can. A field that may be left out is, where its value
// cannot be declared.
func (p *printer) lines(o *printed) (why string, lines []string) {
	header := "[[" + o.header + "]]"
	if o.kind.Single {
		header = "[" + o.header + "]"
	}
	lines = append(lines, header)
	for _, f := range o.kind.Fields {
		v, there := o.values[f.Name]
		path, secret := o.secrets[f.Name]
		switch {
		case secret:
			lines = append(lines, f.Name+"_file = "+quoted(path))
		case slices.Contains(o.optional, f.Name):
			lines = append(lines, "# "+f.Name+"_file = \"…\" keeps a new server from making a random one")
		case v == unseen:
			lines = append(lines, f.Name+" = 0 # to be filled in: garm does not show it")
			p.open = append(p.open, f.Name+" of "+o.label)
		case there:
			line, err := f.line(v)
			if err != nil && (f.Required || f.RequiredNew) {
				why = f.Name + ": " + err.Error()
			} else if err != nil {
				p.left = append(p.left, fmt.Sprintf("%s of %s: %v", f.Name, o.label, err))
				lines = append(lines, "# "+f.Name+" is left alone: "+oneLine(err.Error()))
				continue
			}
			lines = append(lines, line)
		}
	}
	return oneLine(why), lines
}

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// line is a field as it stands in a file, and why no file can hold it.
func (f Field) line(v any) (string, error) {
	if path, ok := v.(filePath); ok {
		return f.Name + " = " + quoted(string(path)), nil
	}
	if f.Type == File {
		content, _ := v.(string)
		text, err := textual(content)
		if err == nil && f.Valid != nil {
			err = f.Valid([]byte(content))
		}
		return f.Wire + " = " + text, err
	}
	return f.Name + " = " + f.Type.toml(v), f.validate(v)
}

// toml is a value in TOML.
func (t Type) toml(v any) string {
	switch value := v.(type) {
	case string:
		if t != JSON {
			return quoted(value)
		}
	case []string:
		sorted := slices.Clone(value)
		slices.Sort(sorted)
		for n, s := range sorted {
			sorted[n] = quoted(s)
		}
		return "[" + strings.Join(sorted, ", ") + "]"
	case int64, int, bool:
		return fmt.Sprint(value)
	}
	return inlineTable(v)
}

// inlineTable is JSON as an inline table; as a string where it holds what TOML has not, null, or has in another form.
func inlineTable(v any) string {
	var text strings.Builder
	encoder := toml.NewEncoder(&text)
	encoder.SetTablesInline(true)
	if err := encoder.Encode(map[string]any{"v": wholeNumbers(v)}); err == nil {
		line := strings.TrimSpace(text.String())
		var back map[string]any
		if toml.Unmarshal([]byte(line), &back) == nil && !strings.Contains(line, "\n") {
			again, err := jsonOf(back["v"])
			if err == nil && reflect.DeepEqual(again, v) {
				return strings.TrimPrefix(line, "v = ")
			}
		}
	}
	data, _ := json.Marshal(v)
	if s := string(data); !strings.ContainsFunc(s, func(r rune) bool { return r == '\'' || r < ' ' || r == 0x7f }) {
		return "'" + s + "'"
	}
	return quoted(string(data))
}

// wholeNumbers makes numbers of JSON's: whole ones where they are, as people do not write 2.0.
func wholeNumbers(v any) any {
	switch value := v.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		if f, err := value.Float64(); err == nil {
			return f
		}
	case []any:
		whole := make([]any, len(value))
		for n := range value {
			whole[n] = wholeNumbers(value[n])
		}
		return whole
	case map[string]any:
		whole := make(map[string]any, len(value))
		for key := range value {
			whole[key] = wholeNumbers(value[key])
		}
		return whole
	}
	return v
}

// quoted is a basic string of TOML v1.0.
func quoted(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		escape(&out, r, false)
	}
	out.WriteByte('"')
	return out.String()
}

// textual is a text of several lines.
func textual(s string) (string, error) {
	if !utf8.ValidString(s) {
		return quoted("…"), fmt.Errorf("its content is no UTF-8, which a provision file has to be: name it by a file of its own")
	}
	plain := !strings.Contains(s, "'''") && !strings.HasSuffix(s, "'")
	for _, r := range s {
		plain = plain && (r >= ' ' && r != 0x7f || r == '\n' || r == '\t')
	}
	if plain {
		return "'''\n" + s + "'''", nil
	}
	var out strings.Builder
	out.WriteString("\"\"\"\n")
	for _, r := range s {
		escape(&out, r, true)
	}
	out.WriteString("\"\"\"")
	return out.String(), nil
}

func escape(out *strings.Builder, r rune, lines bool) {
	switch {
	case r == '"' || r == '\\':
		out.WriteString(`\` + string(r))
	case r == '\n' && lines || r == '\t':
		out.WriteRune(r)
	case r == '\n':
		out.WriteString(`\n`)
	case r < ' ' || r == 0x7f:
		fmt.Fprintf(out, `\u%04x`, r)
	default:
		out.WriteRune(r)
	}
}

// finish puts a head before the file that says what is left to do.
func (p *printer) finish(head string) *Exported {
	var out strings.Builder
	out.WriteString(head)
	if len(p.secrets) > 0 {
		out.WriteString("#\n# Secrets are not printed. Write each into its file, beside this one, before you apply it; until then plan\n" +
			"# compares everything else:\n")
		for _, s := range p.secrets {
			fmt.Fprintf(&out, "#   %s: %s\n", s.path, s.what)
		}
	}
	if len(p.open) > 0 {
		out.WriteString("#\n# To be filled in below: " + strings.Join(p.open, ", ") + "\n")
	}
	for n, left := range p.left {
		if n == 0 {
			out.WriteString("#\n# Left out, or left alone:\n")
		}
		out.WriteString("#   " + oneLine(left) + "\n")
	}
	if p.text.Len() > 0 {
		out.WriteString("\n" + p.text.String())
	}
	e := &Exported{Text: []byte(out.String()), Left: p.left}
	for _, s := range p.secrets {
		e.Secrets = append(e.Secrets, s.path)
	}
	return e
}
