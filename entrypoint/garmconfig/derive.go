package garmconfig

import (
	"bytes"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Loopback is the config of a guarded boot: this one, but listening on addr and
// without providers. All else, known or not, keeps its value and type; comments
// and order are lost. It holds the secrets of the original.
func (c *Config) Loopback(addr netip.AddrPort) ([]byte, error) {
	root := maps.Clone(c.root)
	maps.DeleteFunc(root, func(key string, _ any) bool { return strings.EqualFold(key, "provider") })
	for key, value := range root { // several, when they differ in case only
		if server, ok := value.(map[string]any); ok && strings.EqualFold(key, "apiserver") {
			server = maps.Clone(server)
			maps.DeleteFunc(server, func(key string, _ any) bool {
				return strings.EqualFold(key, "bind") || strings.EqualFold(key, "port")
			})
			server["bind"], server["port"] = addr.Addr().String(), int64(addr.Port())
			root[key] = server
		}
	}
	return encode(root)
}

func encode(root table) ([]byte, error) {
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(encodable(map[string]any(root))); err != nil {
		return nil, fmt.Errorf("cannot write the derived config: %w", err)
	}
	return out.Bytes(), nil
}

// encodable copies a decoded value into one that the library (v1.6.0) encodes to
// the same again. It reads a local date or time in the machine's zone but writes
// it in UTC: the offset in between must be added.
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
