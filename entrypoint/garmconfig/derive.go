package garmconfig

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Loopback is the config of a guarded boot: this one, but listening on addr and without providers. All else, known or
// not, keeps its value and type; comments and order are lost. It holds the secrets of the original.
func (c *Config) Loopback(addr netip.AddrPort) ([]byte, error) {
	return encode(override(c.listening(addr), nil, "provider"))
}

// Trial is the config of a garm that is asked for its opinion and then thrown away: this one, but listening on addr,
// with its database in dir and its log in the file that TrialLog names there.
func (c *Config) Trial(addr netip.AddrPort, dir string) ([]byte, error) {
	root := c.listening(addr)
	root = override(root, "sqlite3", "database", "backend")
	root = override(root, filepath.Join(dir, "trial.db"), "database", "sqlite3", "db_file")
	root = override(root, TrialLog(dir), "logging", "log_file")
	return encode(override(root, "info", "logging", "log_level"))
}

// TrialLog is where a garm with the Trial config logs to.
func TrialLog(dir string) string { return filepath.Join(dir, "trial.log") }

func (c *Config) listening(addr netip.AddrPort) table {
	root := override(c.root, addr.Addr().String(), "apiserver", "bind")
	return override(root, int64(addr.Port()), "apiserver", "port")
}

// override returns a copy of t in which the key at path has the value; nil removes it. Names that differ in case only
// are one to garm, so all are set.
func override(t table, value any, path ...string) table {
	t = maps.Clone(t)
	if t == nil {
		t = table{}
	}
	same := func(key string) bool { return strings.EqualFold(key, path[0]) }
	if len(path) == 1 {
		maps.DeleteFunc(t, func(key string, _ any) bool { return same(key) })
		if value != nil {
			t[path[0]] = value
		}
		return t
	}
	found := false
	for key, item := range t {
		if sub, ok := item.(map[string]any); ok && same(key) {
			t[key] = map[string]any(override(sub, value, path[1:]...))
			found = true
		}
	}
	if !found {
		t[path[0]] = map[string]any(override(nil, value, path[1:]...))
	}
	return t
}

func encode(root table) ([]byte, error) {
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(encodable(map[string]any(root))); err != nil {
		return nil, fmt.Errorf("cannot write the derived config: %w", err)
	}
	return out.Bytes(), nil
}

// encodable copies a decoded value into one that the library (v1.6.0) encodes to the same again. It reads a local date
// or time in the machine's zone but writes it in UTC: the offset in between must be added.
func encodable(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = encodable(item)
		}
		return out
	case []map[string]any:
		out := make([]map[string]any, len(value))
		for i, item := range value {
			out[i] = encodable(item).(map[string]any)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = encodable(item)
		}
		return out
	case time.Time:
		if strings.HasSuffix(value.Location().String(), "-local") {
			_, offset := value.Zone()
			return value.Add(time.Duration(offset) * time.Second)
		}
	}
	return value
}
