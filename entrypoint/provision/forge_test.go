package provision_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// forge is as much of a Gitea and a GitHub Enterprise Server as garm asks of one: runners, tokens, webhooks.
type forge struct {
	*httptest.Server
	mutex sync.Mutex
	hooks map[string][]map[string]any // by path
	next  int
	sets  map[string]map[string]any // runner scale sets, by id
	// status, when set, is the answer to everything; silent: nobody gets one until the test ends.
	status int
	silent chan struct{}
}

func newForge(t testing.TB) *forge {
	f := &forge{hooks: map[string][]map[string]any{}, sets: map[string]map[string]any{}, silent: make(chan struct{})}
	close(f.silent)
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// fall makes the forge answer nobody, until it wakes.
func (f *forge) fall() (wake func()) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	silent := make(chan struct{})
	f.silent = silent
	return sync.OnceFunc(func() { close(silent) })
}

func (f *forge) refuse(status int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.status = status
}

func (f *forge) state() (int, chan struct{}) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.status, f.silent
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, silent := f.state()
	select {
	case <-silent:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if status != 0 {
		w.WriteHeader(status)
		fmt.Fprint(w, `{"message":"the forge is out of order"}`)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/actions/") || strings.HasPrefix(r.URL.Path, "/queue") {
		f.actions(w, r)
		return
	}
	if strings.Contains(r.URL.Path, "/hooks") {
		f.hook(w, r)
		return
	}
	var answer any = map[string]any{"id": 1, "name": "repo", "full_name": "org/repo", "token": "forge-token", "url": f.URL}
	switch {
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		answer = map[string]any{"token": "forge-token", "expires_at": time.Now().Add(time.Hour)}
	case strings.HasSuffix(r.URL.Path, "/runner-groups"):
		answer = map[string]any{"total_count": 1, "runner_groups": []any{map[string]any{"id": 5, "name": "group"}}}
	case strings.HasSuffix(r.URL.Path, "/downloads"):
		answer = []any{map[string]any{"os": "linux", "architecture": "x64", "download_url": f.URL + "/runner.tar.gz", "filename": "runner.tar.gz"}}
	case strings.Contains(r.URL.Path, "runners"):
		answer = map[string]any{"runners": []any{}, "total_count": 0}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// hook keeps the webhooks of a repository or organization.
func (f *forge) hook(w http.ResponseWriter, r *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	list, id, _ := strings.Cut(r.URL.Path, "/hooks")
	id = strings.Trim(id, "/")
	switch r.Method {
	case http.MethodPost:
		if id != "" { // a ping
			return
		}
		var hook map[string]any
		_ = json.NewDecoder(r.Body).Decode(&hook)
		f.next++
		hook["id"] = f.next
		f.hooks[list] = append(f.hooks[list], hook)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(hook)
	case http.MethodDelete:
		kept := []map[string]any{}
		for _, hook := range f.hooks[list] {
			if fmt.Sprint(hook["id"]) != id {
				kept = append(kept, hook)
			}
		}
		f.hooks[list] = kept
		w.WriteHeader(http.StatusNoContent)
	default:
		hooks := f.hooks[list]
		if hooks == nil {
			hooks = []map[string]any{}
		}
		if id != "" {
			for _, hook := range hooks {
				if fmt.Sprint(hook["id"]) == id {
					_ = json.NewEncoder(w).Encode(hook)
					return
				}
			}
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(hooks)
	}
}

// addHook puts one there as a person does, by the end of the path.
func (f *forge) addHook(path, url string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for list := range f.hooks { // all have the API's prefix
		if prefix, _, ok := strings.Cut(list, "/repos/"); ok {
			path = prefix + path
			break
		}
	}
	f.next++
	f.hooks[path] = append(f.hooks[path], map[string]any{"id": f.next, "name": "web", "type": "gitea", "active": true, "url": f.URL,
		"events": []string{"workflow_job"}, "config": map[string]any{"url": url, "content_type": "json", "insecure_ssl": "0"}})
}

func (f *forge) hookCount() (n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, list := range f.hooks {
		n += len(list)
	}
	return n
}
