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

// prepareProvision puts a forge of the test's where the example has its user name his own, and writes the token as he would.
func prepareProvision(t *testing.T, work string) {
	forge := fmt.Sprintf("http://%s:%d", bridgeAddress(t), testgarm.Forge(t))
	rewrite(t, filepath.Join(work, "provision.d/forge.toml"), "https://gitea.example.com", forge)
}

// bridgeAddress returns the address by which containers reach this machine: that of the engine's bridge. The engine itself does not say it
// before it was started a second time (Docker 20.10: no gateway in "docker network inspect bridge").
func bridgeAddress(t *testing.T) string {
	t.Helper()
	name := mustDocker(t, "network", "inspect", "--format", `{{index .Options "com.docker.network.bridge.name"}}`, "bridge")
	bridge, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatalf("bridge %q: %v", name, err)
	}
	addresses, err := bridge.Addrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if ip, _, err := net.ParseCIDR(address.String()); err == nil && ip.To4() != nil {
			return ip.String()
		}
	}
	t.Fatalf("bridge %q has no IPv4 address: %v", name, addresses)
	return ""
}

// rewrite changes a file as an editor does: it puts another in its place.
func rewrite(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	if err := os.WriteFile(path+".new", []byte(strings.ReplaceAll(string(text), old, new)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// checkProvision wants a machine of the declared pool, made by nobody's hand, no difference in a plan, a changed file seen without a
// restart, and the token nowhere but in its file.
func checkProvision(t *testing.T, e *composed) {
	api := testgarm.API(t, e.url())
	token, status := api.Login(e.username, e.adminPassword())
	if status != http.StatusOK {
		t.Fatalf("login: %d", status)
	}
	testgarm.Eventually(t, bootTimeout, "a machine of the declared pool", func() bool {
		machines := api.Instances(token)
		return len(machines) == 1 && strings.HasPrefix(machines[0].Name, "small-") && machines[0].Status == "running"
	})
	if got := e.garm.exec("garm-entrypoint", "plan"); got.Code != 0 {
		t.Errorf("plan ends with %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	rewrite(t, filepath.Join(e.work, "provision.d/forge.toml"), "max_runners = 5", "max_runners = 4")
	testgarm.Eventually(t, bootTimeout, "the changed file", func() bool { return strings.Contains(e.garm.logs(), `max_runners="5 → 4"`) })
	secret, err := os.ReadFile(filepath.Join(e.work, "gitea-token"))
	if err != nil {
		t.Fatal(err)
	}
	for what, shown := range map[string]string{"docker inspect": e.garm.inspect("{{json .}}"), "the log": e.garm.logs()} {
		if strings.Contains(shown, strings.TrimSpace(string(secret))) {
			t.Errorf("%s shows the token", what)
		}
	}
}
