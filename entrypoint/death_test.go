package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// A garm that ends by itself is an error at every log level, with its status, and with the cause that can be seen and
// garm's own words or where they are. Its status is ours. The cause removed, the next start is initialised.
func TestDeathHelps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause func(t *testing.T, dir, config string) (undo func())
		said  string
	}{
		"garbage database": {func(t *testing.T, dir, _ string) func() {
			path := filepath.Join(dir, "garm.db")
			if err := os.WriteFile(path, []byte(strings.Repeat("garbage ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { _ = os.Remove(path) }
		}, "garm.db is not a database: restore it"},
		"port taken": {func(t *testing.T, _, config string) func() {
			l, err := net.Listen("tcp", strings.TrimPrefix(testgarm.BaseURL(t, config), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			return func() { _ = l.Close() }
		}, "somebody else listens on "},
	} {
		for _, log := range []string{"debug", "info", "warn", "error", "file"} {
			t.Run(name+", "+log, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				where := "garm's last lines above say why"
				config := testgarm.Config(t, dir, func(s *testgarm.Settings) {
					switch log {
					case "file":
						s.Default = `log_file = "` + dir + `/garm.log"`
						where = "garm's last lines are in " + dir + "/garm.log"
					case "warn", "error":
						where = "garm says why it ends at level info only: set log_level to"
						fallthrough
					default:
						s.LogLevel = log
					}
				})
				env := []string{"GARM_CONFIG=" + config, "GARM_BINARY=" + testgarm.Garm(t), "GARM_PASSWORD=" + testgarm.Canary, "GARM_CLI_PROFILE=false"}
				undo := c.cause(t, dir, config)
				p := testgarm.Start(t, testgarm.Entrypoint(t), nil, env)
				if code := p.Wait(patience); code != 1 {
					t.Errorf("ended with %d, garm with 1", code)
				}
				line := lineWith(p.Stderr(), `"garm ended by itself"`)
				for _, want := range []string{"level=ERROR", `status="exit status 1"`, "ran=", "was_ready=false", c.said, where} {
					if !strings.Contains(strings.ReplaceAll(line, `\"`, `"`), want) {
						t.Errorf("no %q in %q", want, line)
					}
				}
				undo()
				p = testgarm.Start(t, testgarm.Entrypoint(t), nil, env)
				testgarm.Eventually(t, patience, "a ready garm once the cause is gone", func() bool {
					_, status := testgarm.API(t, testgarm.BaseURL(t, config)).Login("admin", testgarm.Canary)
					return status == 200
				})
				p.Signal(15)
				if code := p.Wait(patience); code != 0 || strings.Contains(p.Stderr(), "garm ended by itself") {
					t.Errorf("asked to stop: code %d", code)
				}
			})
		}
	}
}

// lineWith is the first line that holds a text.
func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return line
		}
	}
	return ""
}
