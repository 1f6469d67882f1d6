package image_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// baseImage is the stand-in for garm's own image that ours was built on.
func baseImage(t *testing.T) string {
	t.Helper()
	return mustDocker(t, "image", "inspect", "--format", `{{index .Config.Labels "org.opencontainers.image.base.name"}}`, needImage(t))
}

// ownConfig writes a config for a container, with its database in that directory.
func ownConfig(t *testing.T, databaseDir, bind string) (path string) {
	t.Helper()
	return testgarm.Config(t, t.TempDir(), func(s *testgarm.Settings) {
		s.Bind, s.Port, s.Database = bind, 9997, databaseDir+"/garm.db"
	})
}

// api is the server of a container that was started with published.
func (c container) api() *testgarm.Client {
	c.t.Helper()
	return testgarm.API(c.t, "http://"+mustDocker(c.t, "port", c.name, "9997/tcp"))
}

var published = []string{"--publish", freePort + ":9997"}

// sum is the checksum of a file in the container.
func (c container) sum(path string) string {
	c.t.Helper()
	return c.mustExec("sha256sum", path)
}

// TestUpstreamVolume gives the image a volume that the plain garm image filled and whose admin was made by hand, as
// people have it: it serves the same controller, to the same admin, and changes nothing in it.
func TestUpstreamVolume(t *testing.T) {
	t.Parallel()
	volume, base := newVolume(t), baseImage(t)
	plain := container{t: t, name: newName()}
	t.Cleanup(plain.discard)
	mustDocker(t, "create", "--name", plain.name, "--volume", volume+":/etc/garm", base)
	mustDocker(t, "cp", ownConfig(t, "/etc/garm", "0.0.0.0"), plain.name+":/etc/garm/config.toml")
	mustDocker(t, "start", plain.name)
	initialise := []string{"env", "HOME=/tmp", "garm-cli", "init", "--name", "test", "--url", "http://127.0.0.1:9997",
		"--username", "boss", "--email", "boss@localhost", "--password", testgarm.Canary}
	testgarm.Eventually(t, bootTimeout, "garm-cli init against the plain image", func() bool { return plain.exec(initialise...).Code == 0 })
	id, config := plain.controllerID("boss", testgarm.Canary), plain.sum("/etc/garm/config.toml")
	mustDocker(t, "stop", plain.name)
	plain.remove()

	for name, flags := range map[string][]string{
		"as it is":             nil,
		"with its arguments":   nil,
		"with his password":    {"--env", "GARM_USERNAME=boss", "--env", "GARM_PASSWORD=" + testgarm.Canary},
		"with another's":       {"--env", "GARM_USERNAME=boss", "--env", "GARM_PASSWORD=another-kX9#mQ2$"},
		"and told to guard it": {"--env", "GARM_FIRST_BOOT=guarded"},
	} {
		args := append([]string{"--volume", volume + ":/etc/garm"}, flags...)
		c := container{t: t, name: newName()}
		t.Cleanup(c.discard)
		command := append(append([]string{"run", "--detach", "--name", c.name}, args...), needImage(t))
		if name == "with its arguments" {
			command = append(command, "-config", "/etc/garm/config.toml")
		}
		mustDocker(t, command...)
		c.waitReady()
		if got := c.controllerID("boss", testgarm.Canary); got != id {
			t.Errorf("%s: controller id %s, want %s", name, got, id)
		}
		if got := c.sum("/etc/garm/config.toml"); got != config {
			t.Errorf("%s: the config was changed", name)
		}
		for _, file := range []string{passwordFile, "/etc/garm/first-boot"} {
			if c.exec("test", "-e", file).Code == 0 {
				t.Errorf("%s: there is a file %s", name, file)
			}
		}
		mustDocker(t, "stop", c.name)
		if code := c.inspect("{{.State.ExitCode}}"); code != "0" {
			t.Errorf("%s: exit code %s, want garm's own, 0", name, code)
		}
		c.remove()
	}
}

// TestReadOnlyConfig mounts a config of the user's own read-only, with the database in a volume elsewhere: what must be
// kept is kept there.
func TestReadOnlyConfig(t *testing.T) {
	t.Parallel()
	flags := append([]string{"--read-only", "--volume", ownConfig(t, "/data", "0.0.0.0") + ":/etc/garm/config.toml:ro",
		"--volume", newVolume(t) + ":/data"}, published...)
	c := startReady(t, flags...)
	password := c.mustExec("cat", "/data/admin-password")
	if _, status := c.api().Login("admin", password); status != http.StatusOK {
		t.Errorf("login: status %d", status)
	}
	c.remove()
	c = startReady(t, flags...)
	if _, status := c.api().Login("admin", password); status != http.StatusOK {
		t.Errorf("login in a new container: status %d", status)
	}
}

// TestPassword hands a password over in each way that engines have, one that shells and env files like to change.
func TestPassword(t *testing.T) {
	t.Parallel()
	const password = ` $HOME ${x} $(id) "double" 'single' \n # = %s ` + "`id`"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	envFile := filepath.Join(t.TempDir(), "env")
	if err := os.WriteFile(envFile, []byte("# a comment\nGARM_PASSWORD="+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{
		"variable": {"--env", "GARM_PASSWORD=" + password},
		"env file": {"--env-file", envFile},
		"file":     {"--volume", file + ":/run/secrets/garm-password:ro", "--env", "GARM_PASSWORD_FILE=/run/secrets/garm-password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startReady(t, append(flags, published...)...)
			if _, status := c.api().Login("admin", password); status != http.StatusOK {
				t.Errorf("login: status %d", status)
			}
			if strings.Contains(c.logs(), password) {
				t.Error("the password is in the log")
			}
		})
	}
}

// TestIPv6 has garm listen on IPv6 in a network that has it: on one address only, on all, and on its loopback. The
// neighbour is this host, which has the network's gateway address.
func TestIPv6(t *testing.T) {
	t.Parallel()
	needImage(t)
	network := newName()
	prefix := fmt.Sprintf("fd00:%x:%x", os.Getpid()&0xffff, testgarm.FreePort(t))
	mustDocker(t, "network", "create", "--ipv6", "--subnet", prefix+"::/64", network)
	t.Cleanup(func() { docker("network", "rm", network) })
	for name, test := range map[string]struct {
		bind  string
		reach []string
		not   []string
	}{
		"one address":  {prefix + "::10", []string{"ip6"}, []string{"ip4"}},
		"both":         {"::", []string{"ip6", "ip4"}, nil},
		"the default":  {"0.0.0.0", []string{"ip4", "ip6"}, nil}, // Go takes it for all of both families
		"own loopback": {"::1", nil, []string{"ip6", "ip4"}},
	} {
		t.Run(name, func(t *testing.T) {
			flags := []string{"--network", network, "--ip6", prefix + "::10", "--volume", newVolume(t) + ":/data",
				"--volume", ownConfig(t, "/data", test.bind) + ":/etc/garm/config.toml:ro"}
			c := startReady(t, flags...)
			defer c.remove()
			address := map[string]string{
				"ip4": c.inspect("{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"),
				"ip6": c.inspect("{{range .NetworkSettings.Networks}}{{.GlobalIPv6Address}}{{end}}"),
			}
			password := c.mustExec("cat", "/data/admin-password")
			for _, family := range test.reach {
				api := testgarm.API(t, "http://"+net.JoinHostPort(address[family], "9997"))
				if _, status := api.Login("admin", password); status != http.StatusOK {
					t.Errorf("login at %s: status %d", address[family], status)
				}
			}
			for _, family := range test.not {
				if api := testgarm.API(t, "http://"+net.JoinHostPort(address[family], "9997")); api.Up() {
					t.Errorf("garm answers at %s", address[family])
				}
			}
		})
	}
}
