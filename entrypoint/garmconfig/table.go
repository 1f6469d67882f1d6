package garmconfig

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/BurntSushi/toml"
)

// table is one TOML table as the library decodes it.
type table map[string]any

// decode parses TOML. The library's messages quote the text they stumble over, which may be a secret: only the place
// and the part before a quote are used.
func decode(data []byte, f *faults) table {
	var root table
	meta, err := toml.Decode(string(data), &root)
	if err == nil {
		f.position = positions(meta.Keys())
		return root
	}
	var syntax toml.ParseError
	if !errors.As(err, &syntax) {
		f.add("cannot be read:", "it is not TOML")
		return nil
	}
	reason := syntax.Message
	if strings.Contains(reason, "already") {
		reason = "this key or table is defined twice"
	}
	if end := strings.IndexAny(reason, `"'`); end >= 0 {
		reason = reason[:end] + "something else"
	}
	after := ""
	if syntax.LastKey != "" {
		after = fmt.Sprintf(" (at or after key %s)", syntax.LastKey)
	}
	f.add(fmt.Sprintf("line %d%s", syntax.Position.Line, after), "is not TOML: %s", reason)
	return nil
}

// get finds a key as the library does when it fills garm's structures: the exact name, else one that differs in case
// only.
func (t table) get(key string) (any, bool) {
	if value, ok := t[key]; ok {
		return value, true
	}
	for name, value := range t {
		if strings.EqualFold(name, key) {
			return value, true
		}
	}
	return nil, false
}

// section is a table of the config together with its full name.
type section struct {
	table
	name   string
	faults *faults
}

func (s section) path(key string) string { return strings.TrimPrefix(s.name+"."+key, ".") }

// sub is the table at key; an empty one when there is none. Tables whose names differ in case only are one to the
// library.
func (s section) sub(key string) section {
	sub := section{table: table{}, name: s.path(key), faults: s.faults}
	for name, value := range s.table {
		if !strings.EqualFold(name, key) {
			continue
		}
		if other, ok := value.(map[string]any); ok {
			maps.Copy(sub.table, other)
		} else {
			s.faults.add(sub.name, "is no table: write [%s] above its keys", sub.name)
		}
	}
	return sub
}

func (s section) text(key string) string {
	value := typed[string](s, key, "a string: put it in quotes")
	path := s.path(key)
	if found := placeholder(value, secretKeys[path]); found != "" {
		s.faults.unfilled = append(s.faults.unfilled, unfilled{path, found})
	}
	return value
}

// typed is the value at key, which garm wants to be of this type; the zero value when there is none.
func typed[T any](s section, key, want string) T {
	value, ok := s.get(key)
	got, is := value.(T)
	if ok && !is {
		s.faults.add(s.path(key), "must be %s", want)
	}
	return got
}
