package image_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// providersDir holds the example provider as its README mounts it, and the spy beside it.
func providersDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "example"), os.DirFS("../examples/provider")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "spy"), os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"", "example", "spy", "example/garm-provider-example", "spy/spy"} {
		if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// oneMachine makes a pool of the example provider, waits until its machine runs, and returns the machine.
func (c container) oneMachine(password string) testgarm.Instance {
	c.t.Helper()
	api := c.api()
	token, status := api.Login("admin", password)
	if status != http.StatusOK {
		c.t.Fatalf("login: status %d", status)
	}
	forge := fmt.Sprintf("http://%s:%d", c.inspect("{{.NetworkSettings.Gateway}}"), testgarm.Forge(c.t))
	api.AddPool(token, forge, "example")
	var machines []testgarm.Instance
	testgarm.Eventually(c.t, bootTimeout, "the provider's machine", func() bool {
		machines = api.Instances(token)
		return len(machines) == 1 && machines[0].Status == "running"
	})
	return machines[0]
}

// TestExampleProvider adds examples/provider to a running container by the commands of its README, and has garm create
// a machine with it and delete it.
func TestExampleProvider(t *testing.T) {
	t.Parallel()
	flags := append([]string{"--volume", newVolume(t) + ":/etc/garm", "--volume", providersDir(t) + "/example:/opt/garm/providers.d/example:ro"},
		append(published, baseURL...)...)
	c := startReady(t, flags...)
	section, err := os.ReadFile("../examples/provider/provider.toml")
	if err != nil {
		t.Fatal(err)
	}
	c.mustExec("sh", "-c", `printf %s "$0" >> /etc/garm/config.toml`, string(section))
	mustDocker(t, "restart", c.name)
	c.waitReady()
	if got := c.mustExec("garm-cli", "provider", "list"); !strings.Contains(got, "example") {
		t.Errorf("garm-cli provider list: %s", got)
	}
	machine := c.oneMachine(c.password())
	if machine.ProviderID != machine.Name {
		t.Errorf("machine %+v: want the provider's id", machine)
	}
	file := strings.TrimSpace(c.mustExec("sh", "-c", "echo /etc/garm/example-machines/*/*/"+machine.Name))
	if got := c.exec("cat", file); !strings.Contains(got.Stdout, `"os_type":"linux","os_arch":"amd64","status":"running"`) {
		t.Errorf("%s: %q, %s", file, got.Stdout, got.Stderr)
	}
	token, _ := c.api().Login("admin", c.password())
	c.api().DeleteInstance(token, machine.Name)
	testgarm.Eventually(t, bootTimeout, "the machine's end", func() bool { return c.exec("test", "-e", file).Code != 0 })
}

// TestProviderSeesNoSecret has a provider look at all that it can see, as root and as another uid, under the engine's
// default capabilities: its environment and descriptors, and those of every other process, ours first of all. Only
// garm's config it may read, as garm may.
func TestProviderSeesNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "canary-Nq7$'\"\\ %x-7Hc2"
	for name, flags := range map[string][]string{
		"root":        nil,
		"another uid": {"--user", "65532:65532"},
	} {
		for _, form := range []string{"variable", "file"} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				c := startSpied(t, canary, form, flags)
				c.oneMachine(canary)
				report := c.mustExec("sh", "-c", "cat /etc/garm/spy.*")
				checkSpied(t, report, canary)
			})
		}
	}
}

// startSpied starts a container on a config whose provider is the spy, with the password given in that form.
func startSpied(t *testing.T, password, form string, flags []string) container {
	t.Helper()
	dir := t.TempDir()
	config := testgarm.Config(t, dir, func(s *testgarm.Settings) {
		s.Bind, s.Port, s.Database = "0.0.0.0", 9997, "/etc/garm/garm.db"
		s.Extra = "[[provider]]\nname = \"example\"\nprovider_type = \"external\"\n[provider.external]\n" +
			"provider_executable = \"/opt/garm/providers.d/spy/spy\"\nconfig_file = \"/opt/garm/providers.d/example/provider.conf\"\n" +
			"environment_variables = [\"\", \"GARM\", \"GARM_PASSWORD\"]\n" // all that garm would ever pass on
	})
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{config, secret} {
		if err := os.Chmod(file, 0o644); err != nil { // for another uid
			t.Fatal(err)
		}
	}
	args := append([]string{"--volume", newVolume(t) + ":/etc/garm", "--volume", config + ":/run/garm.toml:ro", "--env", "GARM_CONFIG=/run/garm.toml",
		"--volume", providersDir(t) + ":/opt/garm/providers.d:ro"}, append(published, baseURL...)...)
	if form == "file" {
		args = append(args, "--volume", secret+":/run/secrets/garm-password:ro", "--env", "GARM_PASSWORD_FILE=/run/secrets/garm-password")
	} else {
		args = append(args, "--env", "GARM_PASSWORD="+password)
	}
	return startReady(t, append(args, flags...)...)
}

// checkSpied looks for what must not be in a report of the spy, and for what must, lest it saw nothing at all.
func checkSpied(t *testing.T, report, password string) {
	t.Helper()
	for name, secret := range map[string]string{"password": password, "jwt secret": testgarm.JWTSecret, "passphrase": testgarm.Passphrase} {
		if strings.Contains(report, secret) {
			t.Errorf("a provider sees the %s", name)
		}
	}
	for _, want := range []string{"GARM_COMMAND=CreateInstance", "== end", "readable environ", "== /proc/1 /usr/local/bin/garm-entrypoint"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q: what did it see?\n%s", want, report)
		}
	}
	if found := regexp.MustCompile(`can (read|see) /proc/1/\S+`).FindAllString(report, -1); found != nil {
		t.Errorf("of the first process it %q", found)
	}
	for _, fd := range regexp.MustCompile(`(?m) (\d+) -> (.*)$`).FindAllStringSubmatch(report, -1) {
		if len(fd[1]) == 1 && fd[1] <= "2" || strings.HasSuffix(fd[2], "/spy") {
			continue
		}
		t.Errorf("it has inherited descriptor %s, %s", fd[1], fd[2])
	}
}
