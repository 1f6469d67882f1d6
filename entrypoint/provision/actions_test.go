package provision_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/provision"
)

// actions is GitHub's service behind runner scale sets, as much of it as garm asks (v0.2.1, util/github/scalesets): it is
// found by a runner registration, keeps scale sets, and has a queue of messages in which there is never one.
func (f *forge) actions(w http.ResponseWriter, r *http.Request) {
	_, id, _ := strings.Cut(r.URL.Path, "/runnerscalesets")
	id, session, _ := strings.Cut(strings.Trim(id, "/"), "/")
	switch {
	case strings.HasPrefix(r.URL.Path, "/queue"):
		select {
		case <-r.Context().Done():
		case <-time.After(200 * time.Millisecond): // GitHub holds it for some 50 s
			w.WriteHeader(http.StatusAccepted)
		}
	case strings.HasSuffix(r.URL.Path, "/runner-registration"):
		answerJSON(w, map[string]any{"url": f.URL + "/actions/tenant", "token": tokenUntil(time.Now().Add(time.Hour))})
	case session != "":
		f.session(w, r, id)
	case strings.Contains(r.URL.Path, "/runnerscalesets"):
		f.scaleSet(w, r, id)
	default:
		answerJSON(w, map[string]any{"count": 0, "value": []any{}})
	}
}

func (f *forge) session(w http.ResponseWriter, r *http.Request, id string) {
	if r.Method == http.MethodDelete {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	number, _ := strconv.Atoi(id)
	answerJSON(w, map[string]any{"sessionId": "7b1f5f0e-6a44-4b0a-9d2a-3a3f5f0e6a44", "ownerName": "garm", "runnerScaleSet": map[string]any{"id": number},
		"messageQueueUrl": f.URL + "/queue", "messageQueueAccessToken": tokenUntil(time.Now().Add(time.Hour)), "statistics": map[string]any{}})
}

func (f *forge) scaleSet(w http.ResponseWriter, r *http.Request, id string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	switch {
	case r.Method == http.MethodPost:
		for _, set := range f.sets {
			if set["name"] == body["name"] {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
		}
		f.next++
		body["id"] = f.next
		f.sets[fmt.Sprint(f.next)] = body
		answerJSON(w, body)
	case r.Method == http.MethodDelete:
		delete(f.sets, id)
		w.WriteHeader(http.StatusNoContent)
	case f.sets[id] == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPatch:
		for name, value := range body {
			f.sets[id][name] = value
		}
		fallthrough
	default:
		answerJSON(w, f.sets[id])
	}
}

func answerJSON(w http.ResponseWriter, answer any) { _ = json.NewEncoder(w).Encode(answer) }

// tokenUntil is a JWT that nobody verifies.
func tokenUntil(expires time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part(fmt.Appendf(nil, `{"exp":%d}`, expires.Unix())) + "." + part([]byte("nobody verifies it"))
}

// scaleSets declares them for all entities of a GitHub Enterprise Server, with an App's credentials and every field.
func scaleSets(t testing.TB, s *server, f *forge, image string) *provision.Declared {
	t.Helper()
	path := everything(t, s.dir, f.URL)
	set := func(entity, name, more string) string {
		return fmt.Sprintf("[[%s.scale_set]]\nname = %q\nprovider = \"example\"\nimage = %q\nflavor = \"f\"\nmax_runners = 3\n%s", entity, name, image, more)
	}
	text := "[[repository]]\nowner = \"acme\"\nname = \"hub\"\ncredentials = \"app\"\n" + set("repository", "least", "") +
		"[[organization]]\nname = \"hub\"\ncredentials = \"app\"\n" +
		set("organization", "all", "runner_prefix = \"pre\"\nlabels = [\"a\", \"b\"]\ndisable_update = true\nmin_idle_runners = 0\nenabled = false\nos_type = \"linux\"\nos_arch = \"arm64\"\n"+
			"runner_bootstrap_timeout = 33\nextra_specs = {x = 1}\nenable_shell = true\ngithub-runner-group = \"group\"\n") +
		set("organization", "second", "enabled = false\nmax_runners = 0\n")
	text = strings.Replace(text, "max_runners = 3\nenabled = false\nmax_runners = 0", "max_runners = 0\nenabled = false", 1)
	text += "[[enterprise]]\nname = \"hub\"\ncredentials = \"app\"\n" + set("enterprise", "least-of-all", "")
	appendTo(t, path, text)
	return load(t, path)
}

// Scale sets of all entities, with every field, converge; a change changes them; and pruned they are gone at GitHub too.
func TestScaleSets(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	declared, memory := scaleSets(t, s, f, "one"), provision.NewMemory()
	s.apply(memory, declared, provision.PlanOptions{})
	if plan := s.plan(memory, declared, provision.PlanOptions{}); !plan.Empty() {
		t.Errorf("the second plan:\n%s", changes(plan))
	}
	if len(f.sets) != 4 {
		t.Errorf("at GitHub: %v", f.sets)
	}
	s.counts()
	s.apply(memory, declared, provision.PlanOptions{})
	if _, writes := s.counts(); writes != 0 {
		t.Errorf("the second apply writes: %d", writes)
	}
	changed := s.apply(memory, scaleSets(t, s, f, "two"), provision.PlanOptions{})
	if changed.Updated < 4 || changed.Created != 0 {
		t.Errorf("a new image: %+v", changed.Changes)
	}
	without := load(t, everything(t, s.dir, f.URL))
	var result *provision.Result
	s.eventually("the end of the scale sets", func() bool {
		var err error
		result, err = s.tryApply(memory, without, provision.PlanOptions{Prune: true})
		return err == nil && result.Provisioned()
	})
	if left := s.has("/scalesets", textOf("name")); len(left) != 0 || len(f.sets) != 0 {
		t.Errorf("left: %v, at GitHub %v", left, f.sets)
	}
}
