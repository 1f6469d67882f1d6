package image_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// composeExample is a directory of examples/compose, and what is true of it.
type composeExample struct {
	dir string
	// scheme and path of the URL that its published port is reached by; port is the one in the container.
	scheme, service, port, path string
	// baseURL is what the controller's URLs begin with when the user sets nothing.
	baseURL string
	// username of the admin, and the file with his password: in the container, or beside the example.
	username, password, ownPassword string
	// prepare a copy of the example's directory, before the commands of its head are typed.
	prepare func(t *testing.T, work string)
	// more that must hold once it is up.
	check func(t *testing.T, e *composed)
}

var composeExamples = map[string]composeExample{
	"minimal": {dir: ".", scheme: "http", service: "garm", port: "9997", baseURL: "http://localhost:9997",
		username: "admin", password: passwordFile},
	"secrets": {dir: "secrets", scheme: "http", service: "garm", port: "9997", baseURL: "http://localhost:9997",
		username: "boss", ownPassword: "garm-password", check: checkSecrets},
	"tls": {dir: "tls", scheme: "https", service: "garm", port: "9997", baseURL: "https://localhost:9997",
		username: "admin", password: "/var/lib/garm/admin-password", check: checkTLS},
	"proxy": {dir: "proxy", scheme: "http", service: "proxy", port: "80", path: "/garm", baseURL: "http://localhost:8080/garm",
		username: "admin", password: passwordFile, check: checkProxy},
	"provision": {dir: "provision", scheme: "http", service: "garm", port: "9997", baseURL: "http://localhost:9997",
		username: "admin", password: passwordFile, prepare: prepareProvision, check: checkProvision},
}

// TestExampleCompose brings each example of examples/compose up as it stands, with whichever Compose is there: by the commands that its own
// header tells. Then it logs in through the published port, restarts it, logs in again, and takes it down.
func TestExampleCompose(t *testing.T) {
	t.Parallel()
	needImage(t)
	for name, example := range composeExamples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := bringUp(t, example)
			id := e.controller().ID
			if got := e.garm.inspect("{{.Config.StopTimeout}} {{.HostConfig.RestartPolicy.Name}}"); got != "150 unless-stopped" {
				t.Errorf("stop timeout and restart policy: %s", got)
			}
			if example.check != nil {
				example.check(t, e)
			}
			e.must("restart")
			e.garm.waitReady()
			if got := e.controller().ID; got != id {
				t.Errorf("controller id %s after a restart: want %s", got, id)
			}
			e.must("down")
			if left := e.must("ps", "-q"); left != "" {
				t.Errorf("down leaves containers: %s", left)
			}
		})
	}
}

// composed is an example that is up.
type composed struct {
	composeExample
	t       *testing.T
	work    string // a copy of the example's directory
	command []string
	env     []string
	garm    container
}

// bringUp copies the example, since its users make files beside it, and starts it.
func bringUp(t *testing.T, example composeExample) *composed {
	t.Helper()
	e := &composed{composeExample: example, t: t, work: t.TempDir()}
	source := filepath.Join("../examples/compose", example.dir)
	if err := os.CopyFS(e.work, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
	if example.prepare != nil {
		example.prepare(t, e.work)
	}
	// The ports are the engine's choice, and the images those of this tree.
	e.env = append(os.Environ(), "IMAGE="+imageName, "PUBLISH="+freePort, "PROVIDER="+providersDir(t)+"/example")
	if e.service == "proxy" {
		image, err := standinProxy()
		if err != nil {
			t.Fatal(err)
		}
		e.env = append(e.env, "PROXY_IMAGE="+image)
	}
	e.command = append(composeCommand(t), "--project-name", newName(), "--file", filepath.Join(e.work, "docker-compose.yml"))
	for _, command := range headerCommands(t, filepath.Join(e.work, "docker-compose.yml")) {
		cmd := exec.Command("sh", "-ec", command)
		cmd.Dir = e.work
		if got := run(cmd); got.Code != 0 {
			t.Fatalf("%s: exit code %d: %s%s", command, got.Code, got.Stdout, got.Stderr)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log:\n%s", e.call("logs", "--no-color").Stdout)
		}
		e.call("down", "--volumes")
	})
	e.must("up", "-d")
	e.garm = container{t: t, name: e.must("ps", "-q", "garm")}
	e.garm.waitReady()
	return e
}

// headerCommands returns the commands that an example's head tells its user to type before it goes up.
func headerCommands(t *testing.T, file string) []string {
	t.Helper()
	var commands []string
	for _, line := range headerLines(t, file) {
		command, _, _ := strings.Cut(line, "   ") // what follows is an explanation
		if strings.HasPrefix(command, "docker compose up") {
			return commands
		}
		commands = append(commands, command)
	}
	t.Fatalf("%s does not tell how it goes up", file)
	return nil
}

// headerLines are the commands in the head of a file.
func headerLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range regexp.MustCompile(`(?m)^#   (\S.*)$`).FindAllStringSubmatch(string(text), -1) {
		lines = append(lines, line[1])
	}
	if len(lines) == 0 {
		t.Fatalf("%s does not tell what to type", file)
	}
	return lines
}

// call runs a command of Compose.
func (e *composed) call(args ...string) result {
	cmd := exec.Command(e.command[0], slices.Concat(e.command[1:], args)...)
	cmd.Env = e.env
	return run(cmd)
}

func (e *composed) must(args ...string) string {
	e.t.Helper()
	got := e.call(args...)
	if got.Code != 0 {
		e.t.Fatalf("compose %s: exit code %d: %s%s", strings.Join(args, " "), got.Code, got.Stdout, got.Stderr)
	}
	return strings.TrimSpace(got.Stdout)
}

// url is where the published port is reached from this host.
func (e *composed) url() string {
	e.t.Helper()
	address := mustDocker(e.t, "port", e.must("ps", "-q", e.service), e.port+"/tcp")
	return e.scheme + "://" + address + e.path
}

// controller logs in from this host, through the published port.
func (e *composed) controller() testgarm.Controller {
	e.t.Helper()
	api, password, token := testgarm.API(e.t, e.url()), e.adminPassword(), ""
	// A proxy needs a moment to find garm again.
	testgarm.Eventually(e.t, bootTimeout, "a login through the published port", func() (done bool) {
		var status int
		token, status = api.Login(e.username, password)
		return status == http.StatusOK
	})
	controller, status := api.Controller(token)
	if status != http.StatusOK || controller.MetadataURL != e.baseURL+"/api/v1/metadata" || controller.AgentURL != e.baseURL+"/agent" {
		e.t.Fatalf("controller: status %d, %+v: want URLs below %s", status, controller, e.baseURL)
	}
	return controller
}

func (e *composed) adminPassword() string {
	e.t.Helper()
	if e.ownPassword == "" {
		return e.garm.mustExec("cat", e.password)
	}
	text, err := os.ReadFile(filepath.Join(e.work, e.ownPassword))
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// checkSecrets wants the password in the file only.
func checkSecrets(t *testing.T, e *composed) {
	if shown := e.garm.inspect("{{json .}}"); strings.Contains(shown, e.adminPassword()) {
		t.Error("docker inspect shows the password")
	}
	if strings.Contains(e.garm.logs(), e.adminPassword()) {
		t.Error("the log shows the password")
	}
	if got := e.garm.exec("test", "-e", passwordFile); got.Code == 0 {
		t.Error("there is a generated password, though one was given")
	}
}

// checkTLS wants the certificate that the user made, valid for the name that he uses, and handed to runners.
func checkTLS(t *testing.T, e *composed) {
	certificate, err := os.ReadFile(filepath.Join(e.work, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	answer, err := client.Get(strings.Replace(e.url(), "127.0.0.1", "localhost", 1) + "/api/v1/controller-info")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d, want 401 as the header says", answer.StatusCode)
	}
	if bundle := e.controller().CABundle; strings.TrimSpace(string(bundle)) != strings.TrimSpace(string(certificate)) {
		t.Errorf("runners are given the CA bundle %q", bundle)
	}
	for _, file := range []string{"config.toml", "tls.key"} {
		if info, err := os.Stat(filepath.Join(e.work, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v: want mode 0600", file, info.Mode(), err)
		}
	}
}

// checkProxy wants all of garm's clients to pass through the prefix: garm-cli, its event stream, and our own init.
func checkProxy(t *testing.T, e *composed) {
	const inside = "http://proxy/garm"
	c := e.garm
	home := "HOME=/tmp/" + newName()
	c.mustExec("mkdir", "-m", "0700", strings.TrimPrefix(home, "HOME="))
	c.mustExec("env", home, "garm-cli", "profile", "add", "--name", "test", "--url", inside, "--username", "admin", "--password", e.adminPassword())
	c.mustExec("env", home, "garm-cli", "controller", "show")
	said := c.mustExec("env", "GARM_SERVER="+inside, "GARM_PASSWORD_FILE="+e.password, "garm-entrypoint", "init")
	if !strings.Contains(said, "already there") {
		t.Errorf("init through the proxy says: %s", said)
	}

	api := testgarm.API(t, e.url())
	token, _ := api.Login(e.username, e.adminPassword())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.url()+"/api/v1/ws/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + token, "Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		t.Errorf("an event stream through the proxy: status %d, want 101", answer.StatusCode)
	}
	if e.must("port", "proxy", "80") == "" || c.inspect("{{json .HostConfig.PortBindings}}") != "{}" {
		t.Error("garm's own port is published beside the proxy's")
	}
}

// standinProxy makes an image that stands in for the public one of nginx.
var standinProxy = sync.OnceValues(func() (string, error) {
	got := run(exec.Command("../image/standin/nginx.sh"))
	if got.Code != 0 {
		return "", fmt.Errorf("cannot make the stand-in for nginx: %s", got.Stderr)
	}
	return strings.TrimSpace(got.Stdout), nil
})

// composeCommand returns the Compose that is there: v2 as a plugin, or 1.29. CI must have one.
func composeCommand(t *testing.T) []string {
	t.Helper()
	for _, command := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if run(exec.Command(command[0], slices.Concat(command[1:], []string{"version"})...)).Code == 0 {
			return command
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("neither docker compose nor docker-compose is installed")
	}
	t.Skip("neither docker compose nor docker-compose is installed")
	return nil
}
