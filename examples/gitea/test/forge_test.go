package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/dockertest"
)

const (
	publicRunner = "docker.io/gitea/act_runner:0.2.13"
	poolFile     = "provision.d/gitea.toml"
	patience     = 3 * time.Minute
	buildTime    = 40 * time.Minute
	// reapTime bounds how long garm v0.2.1 takes to miss a runner whose end it did not hear of: it compares with the forge every five minutes.
	reapTime = 12 * time.Minute
)

// forge is the example, up and running in a directory of its own.
type forge struct {
	t          *testing.T
	dir        string
	env        []string
	project    string
	url, token string // Gitea's API, from here
}

// newForge copies the example, names the stand-ins where public images are named, and follows the example's head.
func newForge(t *testing.T) *forge {
	t.Helper()
	dockertest.NeedEngine(t)
	f := &forge{t: t, dir: t.TempDir(), project: dockertest.NewName(), env: os.Environ()}
	if err := os.CopyFS(f.dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"setup.sh", "push.sh"} {
		if err := os.Chmod(filepath.Join(f.dir, script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gitea, runner, garm := f.script("./gitea.sh"), f.script("./runner.sh"), f.garmImage()
	f.edit(publicRunner, runner)
	f.env = append(f.env, "COMPOSE_PROJECT_NAME="+f.project, "GITEA_IMAGE="+gitea, "GARM_IMAGE="+garm, "PUBLISH=127.0.0.1:0",
		"PUBLISH_GITEA=127.0.0.1:0", "GARM_PROVISION_PRUNE=true")
	t.Cleanup(f.down)
	f.run("./setup.sh")
	f.compose("up", "-d")
	password, err := os.ReadFile(filepath.Join(f.dir, "secrets/gitea-admin-password"))
	if err != nil {
		t.Fatal(err)
	}
	f.token = string(password)
	f.url = "http://" + strings.TrimSpace(f.compose("port", "gitea", "3000")) + "/api/v1"
	return f
}

// garmImage is this tree's image with the provider in it; GARM_IMAGE names one that is there already.
func (f *forge) garmImage() string {
	if image := os.Getenv("GARM_IMAGE"); image != "" {
		return image
	}
	base, image := f.project+":base", f.project+":garm"
	f.env = append(f.env, "BASE=local", "IMAGE="+base, "VERSION=test")
	f.script("../../../hack/image.sh")
	f.t.Cleanup(func() { dockertest.Docker("image", "rm", "--force", base, image) })
	dockertest.Must(f.t, "build", "--file", "../Dockerfile", "--tag", image, "--build-arg", "IMAGE="+base,
		"--build-arg", "GO_IMAGE="+f.script("../../../image/standin/go.sh"), "../../..")
	return image
}

// down removes all of it, and shows garm's log of a failure.
func (f *forge) down() {
	if f.t.Failed() {
		f.t.Logf("garm's log:\n%s", f.compose("logs", "--no-color", "--tail", "150", "garm"))
	}
	for _, id := range f.containers() {
		dockertest.Docker("rm", "--force", id)
	}
	f.compose("down", "--volumes", "--timeout", "20")
}

// script runs a script from this directory, and returns what it prints.
func (f *forge) script(path string) string {
	f.t.Helper()
	return f.exec("", buildTime, path)
}

// run runs a script of the example.
func (f *forge) run(path string) string {
	f.t.Helper()
	return f.exec(f.dir, 2*patience, path)
}

// compose runs Compose as the example's scripts do.
func (f *forge) compose(args ...string) string {
	f.t.Helper()
	return f.exec(f.dir, 2*patience, "sh", append([]string{"-c", `. ./lib.sh; compose "$@"`, "compose"}, args...)...)
}

func (f *forge) exec(dir string, limit time.Duration, program string, args ...string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, f.env
	got := dockertest.Run(cmd)
	if got.Code != 0 {
		f.t.Fatalf("%s %q: exit code %d: %s%s", program, args, got.Code, got.Stdout, got.Stderr)
	}
	return strings.TrimSpace(got.Stdout)
}

// edit changes the provision file in one step, as an editor does.
func (f *forge) edit(from, to string) {
	f.t.Helper()
	path := filepath.Join(f.dir, poolFile)
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), from) {
		f.t.Fatalf("%s has no %q: %v", poolFile, from, err)
	}
	if err := os.WriteFile(path+".new", []byte(strings.ReplaceAll(string(data), from, to)), 0o644); err != nil {
		f.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		f.t.Fatal(err)
	}
}

// eventually waits until something holds, and returns how long that took.
func (f *forge) eventually(what string, holds func() bool) time.Duration {
	f.t.Helper()
	return f.within(patience, what, holds)
}

// within is eventually with a limit of its own.
func (f *forge) within(limit time.Duration, what string, holds func() bool) time.Duration {
	f.t.Helper()
	start := time.Now()
	for !holds() {
		if time.Since(start) > limit {
			f.t.Fatalf("%v passed without %s", limit, what)
		}
		time.Sleep(200 * time.Millisecond)
	}
	return time.Since(start)
}

// containers are the runners of this project's garm, by the provider's label, ended ones too.
func (f *forge) containers(filters ...string) []string {
	args := []string{"ps", "--all", "--quiet", "--filter", "label=garm.owner=" + f.project + "/garm"}
	for _, filter := range filters {
		args = append(args, "--filter", filter)
	}
	return strings.Fields(dockertest.Docker(args...).Stdout)
}

// gitea asks Gitea's API for something of the repository.
func (f *forge) gitea(method, path string, body, into any) int {
	f.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	request, err := http.NewRequest(method, f.url+"/repos/acme/hello"+path, bytes.NewReader(data))
	if err != nil {
		f.t.Fatal(err)
	}
	request.SetBasicAuth("root", f.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	if text, ok := into.(*string); ok {
		*text = string(said)
	} else if into != nil {
		_ = json.Unmarshal(said, into)
	}
	return answer.StatusCode
}

// job is a run as Gitea lists it.
type job struct {
	ID      int64  `json:"id"`
	Status  string `json:"status"`
	Started string `json:"run_started_at"`
}

func (f *forge) jobs() []job {
	f.t.Helper()
	var list struct {
		Runs []job `json:"workflow_runs"`
	}
	f.gitea(http.MethodGet, "/actions/tasks", nil, &list)
	return list.Runs
}

// push commits a workflow of one script, and returns how long it took until a runner had its job, and the job's number.
func (f *forge) push(script string) (time.Duration, int64) {
	f.t.Helper()
	before := len(f.jobs())
	workflow := "on: [push]\njobs:\n  job:\n    runs-on: linux\n    steps:\n      - run: " + script + "\n"
	path := fmt.Sprintf("/contents/.gitea/workflows/%d.yaml", before)
	// One workflow at a time: the last one is taken away with the same commit as the new one is made.
	operations := []map[string]any{{"operation": "create", "path": strings.TrimPrefix(path, "/contents/"), "content": []byte(workflow)}}
	if before > 0 {
		old := fmt.Sprintf(".gitea/workflows/%d.yaml", before-1)
		var file struct{ SHA string }
		f.gitea(http.MethodGet, "/contents/"+old, nil, &file)
		operations = append(operations, map[string]any{"operation": "delete", "path": old, "sha": file.SHA})
	}
	start := time.Now()
	if status := f.gitea(http.MethodPost, "/contents", map[string]any{"message": "job", "branch": "main", "files": operations}, nil); status != http.StatusCreated {
		f.t.Fatalf("cannot push: status %d", status)
	}
	f.eventually("a runner taking the job", func() bool { return len(f.jobs()) == before+1 })
	return time.Since(start), f.jobs()[0].ID
}

// green waits for a job's success, and returns its log.
func (f *forge) green(id int64) (log string) {
	f.t.Helper()
	f.eventually("the job's success", func() bool {
		for _, one := range f.jobs() {
			if one.ID == id && one.Status == "failure" {
				f.t.Fatal("the job failed")
			}
			if one.ID == id {
				return one.Status == "success"
			}
		}
		return false
	})
	if status := f.gitea(http.MethodGet, fmt.Sprintf("/actions/jobs/%d/logs", id), nil, &log); status != http.StatusOK {
		f.t.Errorf("the job's log: status %d", status)
	}
	return log
}

// hooks is how many webhooks the repository has.
func (f *forge) hooks() int {
	f.t.Helper()
	var hooks []struct{ ID int64 }
	f.gitea(http.MethodGet, "/hooks", nil, &hooks)
	return len(hooks)
}
