package boot

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/durable"
	"garm-entrypoint/supervisor"
)

// profileName is the name under which garm-cli knows the local server.
const profileName = "garm-entrypoint"

// cliProfile keeps a garm-cli profile of the local server, so that garm-cli just works in the container. garm-cli
// itself leaves it world-readable with the admin's token in it; ours is 0600.
type cliProfile struct {
	path, baseURL string
	log           *slog.Logger
}

// newCLIProfile returns nil where a profile would be of no use: no garm-cli, or no HOME that can be written to (usual
// for a uid without a passwd entry).
func newCLIProfile(s settings.Settings, env settings.Environment, baseURL string, log *slog.Logger) *cliProfile {
	home, _ := env.Get("HOME")
	path, _ := env.Get("PATH")
	if _, err := supervisor.LookPath("garm-cli", path); !s.CLIProfile || err != nil || home == "" || durable.Writable(home) != nil {
		return nil
	}
	// Where garm-cli v0.1.4 to v0.2.1 looks, whatever XDG_DATA_HOME says.
	return &cliProfile{path: filepath.Join(home, ".local", "share", "garm-cli", "config.toml"), baseURL: baseURL, log: log}
}

// save puts a token into the profile. A file in which garm-cli keeps other servers and not ours belongs to somebody
// else and is left alone.
func (c *cliProfile) save(token string) {
	if err := c.write(token); err != nil {
		c.log.Warn("cannot keep a garm-cli profile (GARM_CLI_PROFILE=false stops trying): "+err.Error(), slog.String("path", c.path))
	}
}

func (c *cliProfile) write(token string) error {
	content := map[string]any{}
	data, err := os.ReadFile(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		if err := toml.Unmarshal(data, &content); err != nil {
			return errors.New("it is not TOML")
		}
	}
	if !c.update(content, token) {
		c.log.Debug("the garm-cli profile is not ours and is left alone", slog.String("path", c.path))
		return nil
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(content); err != nil {
		return fmt.Errorf("cannot encode it: %w", err)
	}
	return durable.Replace(c.path, out.Bytes())
}

// update sets our entry in garm-cli's content, and reports whether it may.
func (c *cliProfile) update(content map[string]any, token string) bool {
	entry := map[string]any{"name": profileName, "base_url": c.baseURL, "bearer_token": token}
	managers, _ := content["manager"].([]map[string]any)
	for n, m := range managers {
		if m["name"] == profileName {
			managers[n] = entry
			return true
		}
	}
	if len(managers) > 0 {
		return false
	}
	content["manager"] = []map[string]any{entry}
	content["active_manager"] = profileName
	return true
}
