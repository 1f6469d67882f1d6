package provision_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/durable"
)

// several declares that many repositories with two pools each, and what they need.
func several(t testing.TB, dir, forgeURL string, repositories int) string {
	t.Helper()
	write(t, dir, "token", "canary-token-of-the-forge\n")
	var text strings.Builder
	fmt.Fprintf(&text, `
[controller]
minimum_job_age_backoff = 7
[[endpoint]]
name = "gitea"
forge = "gitea"
base_url = %q
use_internal_tools_metadata = true
[[credentials]]
name = "bot"
endpoint = "gitea"
token_file = "token"
`, forgeURL)
	for n := range repositories {
		fmt.Fprintf(&text, "[[repository]]\nowner = \"acme\"\nname = \"r%d\"\ncredentials = \"bot\"\n", n)
		for _, pool := range []string{"small", "large"} {
			fmt.Fprintf(&text, "[[repository.pool]]\nname = %q\nprovider = \"example\"\nimage = \"i\"\nflavor = \"f\"\ntags = [\"x\"]\nmax_runners = 2\nenabled = false\n", pool)
		}
	}
	return write(t, dir, "several.toml", text.String())
}

// helper is what a helper process is told, in JSON, in the variable helperVariable.
type helper struct {
	Server, Path, Memory string
	Prune                bool
	Timeout              time.Duration
}

const helperVariable = "GARM_PROVISION_TEST_HELPER"

// start runs an applier in a process of its own: this test's binary again.
func (h helper) start(t testing.TB) *exec.Cmd {
	t.Helper()
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), helperVariable+"="+string(data))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestHelperProcess is no test: it is what helper.start runs. It applies until the server is provisioned.
func TestHelperProcess(t *testing.T) {
	data := os.Getenv(helperVariable)
	if data == "" {
		t.Skip("what other tests start")
	}
	var h helper
	if err := json.Unmarshal([]byte(data), &h); err != nil {
		t.Fatal(err)
	}
	if err := h.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (h helper) run(ctx context.Context) error {
	memory, err := readMemory(h.Memory)
	if err != nil {
		return err
	}
	declared, err := provision.Load([]string{h.Path}, provision.Sources{})
	if err != nil {
		return err
	}
	applier := &provision.Applier{API: sessionOf(h.Server), Memory: memory, Options: provision.PlanOptions{Prune: h.Prune}, Timeout: 5 * time.Second,
		Keep: func(m *provision.Memory) error {
			data, err := m.Encode()
			if err != nil {
				return err
			}
			return durable.Replace(h.Memory, data)
		}}
	for try := 0; ; try++ {
		result, err := applier.Apply(ctx, declared)
		if err == nil && result.Provisioned() {
			return nil
		}
		if err == nil {
			err = errors.New(problems(result))
		}
		if try == 10 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// readMemory reads what a process kept; whatever it was killed in, that is a memory.
func readMemory(path string) (*provision.Memory, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return provision.NewMemory(), nil
	}
	if err != nil {
		return nil, err
	}
	return provision.ParseMemory(data)
}

func sessionOf(server string) provision.API {
	u, _ := url.Parse(server)
	client := garmapi.New(garmapi.Options{Server: u, Transport: garmapi.NewTransport(garmapi.Trust{}, nil)})
	return garmapi.NewSession(client, garmapi.SessionOptions{Username: username, Password: password})
}

// has lists what the server has of a path, by the name that fn makes of each.
func (s *server) has(path string, fn func(row map[string]any) string) (names []string) {
	s.t.Helper()
	var rows []map[string]any
	if err := sessionOf(s.url).Do(s.t.Context(), garmapi.Request{Op: "list", Method: "GET", Path: path, Into: &rows}); err != nil {
		s.t.Fatal(err)
	}
	for _, row := range rows {
		names = append(names, fn(row))
	}
	slices.Sort(names)
	return names
}

func textOf(keys ...string) func(map[string]any) string {
	return func(row map[string]any) string {
		var parts []string
		for _, key := range keys {
			parts = append(parts, fmt.Sprint(row[key]))
		}
		return strings.Join(parts, " ")
	}
}

// exactly fails the test unless the server has what several declared, each once.
func (s *server) exactly(repositories int) {
	s.t.Helper()
	var wantPools, wantRepositories []string
	for n := range repositories {
		wantRepositories = append(wantRepositories, fmt.Sprintf("r%d", n))
		wantPools = append(wantPools, fmt.Sprintf("acme/r%d small", n), fmt.Sprintf("acme/r%d large", n))
	}
	slices.Sort(wantRepositories)
	slices.Sort(wantPools)
	for what, pair := range map[string][2][]string{
		"endpoints":    {s.has("/gitea/endpoints", textOf("name")), {"gitea", "gitea.com"}},
		"credentials":  {s.has("/gitea/credentials", textOf("name")), {"bot"}},
		"repositories": {s.has("/repositories", textOf("name")), wantRepositories},
		"pools":        {s.has("/pools", textOf("repo_name", "runner_prefix")), wantPools},
	} {
		got := slices.DeleteFunc(pair[0], func(name string) bool { return name == "gitea.com" })
		want := slices.DeleteFunc(pair[1], func(name string) bool { return name == "gitea.com" })
		if !slices.Equal(got, want) {
			s.t.Errorf("%s: the server has\n%v, want\n%v", what, got, want)
		}
	}
}

// Several appliers at once, each with a memory of its own, end in one server: nothing twice, nothing lost. Afterwards no
// one of them has anything to do.
func TestSeveralAppliers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 8} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			const repositories = 4
			s, f := startServer(t, pinned(t)), newForge(t)
			path := several(t, s.dir, f.URL, repositories)
			memories := make([]*provision.Memory, n)
			results := make([]string, n)
			var wait sync.WaitGroup
			for i := range n {
				memories[i] = provision.NewMemory()
				declared := load(t, path)
				wait.Go(func() {
					applier := &provision.Applier{API: sessionOf(s.url), Memory: memories[i], Timeout: 10 * time.Second}
					result, err := applier.Apply(t.Context(), declared)
					if err != nil {
						results[i] = err.Error()
					} else {
						results[i] = problems(result)
					}
				})
			}
			wait.Wait()
			if left := strings.Trim(strings.Join(results, "\n"), "\n"); left != "" {
				t.Logf("left to the next time:\n%s", left)
			}
			declared := load(t, path)
			for i := range n {
				s.apply(memories[i], declared, provision.PlanOptions{})
			}
			s.exactly(repositories)
			for i := range n {
				s.counts()
				s.apply(memories[i], declared, provision.PlanOptions{})
				if _, writes := s.counts(); writes != 0 {
					t.Errorf("applier %d still writes: %d", i, writes)
				}
			}
		})
	}
}

// memoryIn is where the helper keeps its memory.
func memoryIn(dir string) string { return filepath.Join(dir, "provision.json") }
