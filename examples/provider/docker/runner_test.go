package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudbase/garm-provider-common/params"
)

// callback is a garm as far as a runner sees it; it fails the first of each request, as one that is being restarted.
type callback struct {
	*httptest.Server
	mutex sync.Mutex
	seen  map[string]bool
	said  []string
}

func newCallback(t *testing.T) *callback {
	c := &callback{seen: map[string]bool{}}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	body, _ := io.ReadAll(r.Body)
	request := r.Method + " " + r.URL.Path + " " + string(body)
	if !c.seen[request] {
		c.seen[request] = true
		http.Error(w, "not yet", http.StatusBadGateway)
		return
	}
	if r.Header.Get("Authorization") != "Bearer instance-token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c.said = append(c.said, request)
	if r.Method == http.MethodGet {
		fmt.Fprintln(w, "registration-token")
	}
}

// fakeRunner puts an act_runner into PATH: a script.
func fakeRunner(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(dir, runnerProgram), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/bin:/usr/bin")
}

// newAgent is one that the provider has just started.
func newAgent(t *testing.T, server string) *agent {
	t.Helper()
	dir := t.TempDir()
	data, err := json.Marshal(params.BootstrapInstance{Name: "r-1", RepoURL: "http://forge", CallbackURL: server + "/callbacks/status",
		MetadataURL: server + "/metadata", InstanceToken: "instance-token", Labels: []string{"linux", "runner-pool-id=p"}, Image: "an-image"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, bootstrapFile), data, 0o444); err != nil {
		t.Fatal(err)
	}
	a, err := readBootstrap(dir)
	if err != nil {
		t.Fatal(err)
	}
	a.pause = time.Millisecond
	return a
}

// A runner registers with what garm gave, and reports each step, though each thing fails at first.
func TestRegister(t *testing.T) {
	fakeRunner(t, `[ -e tried ] || { touch tried; echo "the forge is down" >&2; exit 1; }
echo "$@" >arguments
echo '{"WARNING": "", "id": 7, "uuid": "u"}' >.runner`)
	server := newCallback(t)
	a := newAgent(t, server.URL)
	_, argv, _, err := a.register(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`POST /callbacks/status {"agent_id":null,"message":"registering at the forge","status":"installing"}`,
		"GET /metadata/runner-registration-token/ ",
		`POST /callbacks/status {"agent_id":7,"message":"waiting for a job","status":"idle"}`}
	if !slices.Equal(server.said, want) {
		t.Errorf("garm was told %q: want %q", server.said, want)
	}
	got, _ := os.ReadFile(filepath.Join(a.dir, "arguments"))
	if want := "register --no-interactive --ephemeral --instance http://forge --token registration-token --name r-1 --labels linux,runner-pool-id=p\n"; string(got) != want {
		t.Errorf("the runner was given %q: want %q", got, want)
	}
	if want := []string{"act_runner", "daemon", "--config", filepath.Join(a.dir, "config.yaml")}; !slices.Equal(argv, want) {
		t.Errorf("it becomes %q: want %q", argv, want)
	}
	if _, err := readBootstrap(a.dir); err == nil || !strings.Contains(err.Error(), "runs once") {
		t.Errorf("a second start: %v", err)
	}
}

// What cannot be cured is an error that says what it is.
func TestRegisterFails(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"no runner in the image": {"", "image an-image has no act_runner"},
		"the forge refuses":      {"echo 'no such token' >&2; exit 1", "no such token"},
		"no id":                  {"echo '{}' >.runner", "cannot find the runner's id"},
	} {
		t.Run(name, func(t *testing.T) {
			fakeRunner(t, c.script)
			_, _, _, err := newAgent(t, newCallback(t).URL).register(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v: want %q in it", err, c.want)
			}
		})
	}
}
