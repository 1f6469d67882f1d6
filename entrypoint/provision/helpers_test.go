package provision_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

const (
	username = "admin"
	password = "Q8Zr2Tw6Yp4Lk9Xn3Vb7Mc5Hd1Jf0"
	base     = "http://127.0.0.1:9997"
)

// server is a real garm, initialised, with the provider "example".
type server struct {
	t       testing.TB
	dir     string
	url     string
	version string
	config  string
	proc    *testgarm.Proc
	*counting
}

// counting counts requests by method.
type counting struct {
	api   provision.API
	mutex sync.Mutex
	sent  map[string]int
}

func (c *counting) Do(ctx context.Context, r garmapi.Request) error {
	c.mutex.Lock()
	c.sent[r.Method]++
	c.mutex.Unlock()
	return c.api.Do(ctx, r)
}

// counts returns and resets them: reads, writes.
func (c *counting) counts() (reads, writes int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for method, n := range c.sent {
		if method == "GET" {
			reads += n
		} else {
			writes += n
		}
	}
	c.sent = map[string]int{}
	return reads, writes
}

// startServer starts a garm of that version; more are further sections of its config.
func startServer(t testing.TB, version string, more ...string) *server {
	t.Helper()
	dir := t.TempDir()
	example, err := filepath.Abs("../../examples/provider/garm-provider-example")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "provider.conf", "directory = "+dir+"/machines\n")
	// It keeps what garm hands a new machine, which the example throws away: the token that a runner reports with is in it.
	provider := write(t, dir, "provider", fmt.Sprintf("#!/bin/sh\n[ $GARM_COMMAND = CreateInstance ] || exec %[1]s\n/bin/mkdir -p %[2]s/boot\n"+
		"f=$(/bin/mktemp %[2]s/boot/.XXXXXX) && /bin/cat >$f && /bin/mv $f $f.json && exec %[1]s <$f.json\n", example, dir))
	if err := os.Chmod(provider, 0o700); err != nil {
		t.Fatal(err)
	}
	config := testgarm.Config(t, dir, func(s *testgarm.Settings) {
		s.Default = fmt.Sprintf("enable_webhook_management = true\ncallback_url = %q\nmetadata_url = %q\n", base+"/api/v1/callbacks", base+"/api/v1/metadata")
		s.Extra = fmt.Sprintf("[[provider]]\nname = \"example\"\nprovider_type = \"external\"\n[provider.external]\nprovider_executable = %q\nconfig_file = %q\n",
			provider, filepath.Join(dir, "provider.conf")) + strings.Join(more, "")
	})
	s := &server{t: t, dir: dir, url: testgarm.BaseURL(t, config), version: version, config: config}
	s.proc = testgarm.StartRelease(t, version, config)
	s.initialise()
	return s
}

// restart kills garm and starts it again on the same database.
func (s *server) restart() {
	s.t.Helper()
	s.proc.Signal(syscall.SIGKILL)
	s.proc.Wait(10 * time.Second)
	s.proc = testgarm.StartRelease(s.t, s.version, s.config)
}

func (s *server) initialise() {
	s.t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	client := garmapi.New(garmapi.Options{Server: u, Transport: garmapi.NewTransport(garmapi.Trust{}, nil)})
	api := testgarm.API(s.t, s.url)
	if status := api.FirstRun(testgarm.User{Username: username, Password: password, Email: "admin@localhost", FullName: "Admin"}); status != 200 {
		s.t.Fatalf("first run: %d", status)
	}
	session := garmapi.NewSession(client, garmapi.SessionOptions{Username: username, Password: password})
	s.counting = &counting{api: session, sent: map[string]int{}}
	token, _ := api.Login(username, password)
	api.Update(token, map[string]string{"metadata_url": base + "/api/v1/metadata", "callback_url": base + "/api/v1/callbacks",
		"webhook_url": base + "/webhooks", "agent_url": base + "/agent"})
}

// write writes a file, 0600, and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads one provision file.
func load(t testing.TB, path string) *provision.Declared {
	t.Helper()
	declared, err := provision.Load([]string{path}, provision.Sources{Variable: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

// apply applies, and fails the test unless the server is provisioned then.
func (s *server) apply(memory *provision.Memory, declared *provision.Declared, options provision.PlanOptions) *provision.Result {
	s.t.Helper()
	result, err := s.tryApply(memory, declared, options)
	if err != nil {
		s.t.Fatal(err)
	}
	if !result.Provisioned() {
		s.t.Fatalf("not provisioned: %s", problems(result))
	}
	return result
}

func (s *server) tryApply(memory *provision.Memory, declared *provision.Declared, options provision.PlanOptions) (*provision.Result, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	applier := &provision.Applier{API: s, Memory: memory, Options: options, Timeout: 5 * time.Second}
	return applier.Apply(ctx, declared)
}

// plan compares, and changes nothing.
func (s *server) plan(memory *provision.Memory, declared *provision.Declared, options provision.PlanOptions) *provision.Plan {
	s.t.Helper()
	observed, err := provision.Observe(s.t.Context(), s, declared, memory)
	if err != nil {
		s.t.Fatal(err)
	}
	return provision.NewPlan(declared, observed, memory, options)
}

func problems(r *provision.Result) string {
	var lines []string
	for _, p := range r.Problems {
		lines = append(lines, p.Object+": "+p.Text)
	}
	return strings.Join(lines, "\n")
}

func changes(p *provision.Plan) string {
	var lines []string
	for _, c := range p.Changes {
		lines = append(lines, fmt.Sprintf("%s %s %v %s", c.Action, c.Object, c.Fields, c.Note))
	}
	for _, p := range p.Problems {
		lines = append(lines, "! "+p.Object+": "+p.Text)
	}
	return strings.Join(lines, "\n")
}

// pinned is the version of garm that is shipped; its tests are no short ones.
func pinned(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a garm server")
	}
	return testgarm.Version(t)
}
