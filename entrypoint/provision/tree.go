package provision

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// table is a table of a provision file, with the places of its keys.
type table struct {
	place Place
	file  *document
	path  string
	keys  map[string]any
}

// document is one parsed file: the values as the TOML library decodes them, and beside them the line of each key,
// which only the library's syntax tree knows.
type document struct {
	name  string
	lines map[string]int // by path, such as repository[1].pool[0].image
	root  table
}

// parseDocument reads TOML v1.0. A file that is no TOML is one fault: what follows the first error means nothing.
func parseDocument(name string, data []byte) (*document, error) {
	d := &document{name: name, lines: map[string]int{}}
	var root map[string]any
	if err := decode(data, &root); err != nil {
		line := 0
		var decodeError *toml.DecodeError
		if errors.As(err, &decodeError) {
			line, _ = decodeError.Position()
		}
		return nil, &Fault{Place: Place{name, line}, Text: "it is not TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	}
	if err := d.locate(data); err != nil {
		return nil, &Fault{Place: Place{name, 0}, Text: "it is not TOML: " + err.Error()}
	}
	d.root = table{place: Place{name, 1}, file: d, keys: root}
	return d, nil
}

// decode turns a panic of the library into an error: a file must not be able to end a serving process.
func decode(data []byte, into *map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be parsed: %v", r)
		}
	}()
	return toml.Unmarshal(data, into)
}

// locate walks the syntax tree for the line of every key and table header.
func (d *document) locate(data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be parsed: %v", r)
		}
	}()
	var parser unstable.Parser
	parser.Reset(data)
	counts := map[string]int{} // of each array of tables
	current := ""
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			name, line := d.header(&parser, e, counts)
			d.note(name, line)
			if e.Kind == unstable.ArrayTable {
				counts[name]++
				name = fmt.Sprintf("%s[%d]", name, counts[name]-1)
			}
			current = name
			d.note(current, line)
		case unstable.KeyValue:
			d.keyValue(&parser, e, current)
		}
	}
	return parser.Error()
}

// header returns the path of a table header; a parent that is an array of tables means its last element.
func (d *document) header(parser *unstable.Parser, e *unstable.Node, counts map[string]int) (path string, line int) {
	for key := e.Key(); key.Next(); {
		if path != "" {
			if n := counts[path]; n > 0 {
				path = fmt.Sprintf("%s[%d]", path, n-1)
			}
		}
		path = join(path, string(key.Node().Data))
		line = parser.Shape(key.Node().Raw).Start.Line
		if !key.IsLast() {
			d.note(path, line) // a table that has no header of its own
		}
	}
	return path, line
}

// keyValue notes the line of a key, and of those within inline tables and arrays of them.
func (d *document) keyValue(parser *unstable.Parser, e *unstable.Node, path string) {
	line := 0
	for key := e.Key(); key.Next(); {
		path = join(path, string(key.Node().Data))
		line = parser.Shape(key.Node().Raw).Start.Line
		d.note(path, line)
	}
	d.value(parser, e.Value(), path, line)
}

func (d *document) value(parser *unstable.Parser, v *unstable.Node, path string, line int) {
	switch v.Kind {
	case unstable.InlineTable:
		for child := v.Children(); child.Next(); {
			if child.Node().Kind == unstable.KeyValue {
				d.keyValue(parser, child.Node(), path)
			}
		}
	case unstable.Array:
		n := 0
		for child := v.Children(); child.Next(); n++ {
			element := fmt.Sprintf("%s[%d]", path, n)
			d.note(element, line)
			d.value(parser, child.Node(), element, line)
		}
	}
}

// note keeps the first line that names a path.
func (d *document) note(path string, line int) {
	if _, known := d.lines[path]; !known {
		d.lines[path] = line
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// at is the place of a key, or of the table when the key is not there.
func (t table) at(key string) Place {
	if line, known := t.file.lines[join(t.path, key)]; known {
		return Place{t.file.name, line}
	}
	return t.place
}

// tables returns the elements of an array of tables, and false when the value is none.
func (t table) tables(key string) ([]table, bool) {
	list, ok := t.keys[key].([]any)
	if !ok {
		return nil, false
	}
	all := make([]table, 0, len(list))
	for n, element := range list {
		keys, ok := element.(map[string]any)
		if !ok {
			return nil, false
		}
		path := fmt.Sprintf("%s[%d]", join(t.path, key), n)
		place := t.at(key)
		if line, known := t.file.lines[path]; known {
			place.Line = line
		}
		all = append(all, table{place: place, file: t.file, path: path, keys: keys})
	}
	return all, true
}

// table returns a single table.
func (t table) table(key string) (table, bool) {
	keys, ok := t.keys[key].(map[string]any)
	return table{place: t.at(key), file: t.file, path: join(t.path, key), keys: keys}, ok
}
