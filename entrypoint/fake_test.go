package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"garm-entrypoint/internal/fakegarm"
	"garm-entrypoint/internal/testgarm"
)

// answer is what a server says to one request.
type answer struct {
	Code          int
	Error, Reason string
}

// ask sends one request. The reason counts only where the initialiser looks at it: its wording differs between versions
// elsewhere.
func ask(t *testing.T, base, method, path, token, body string) (a answer, got map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, base+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	_ = json.NewDecoder(response.Body).Decode(&got)
	a.Code = response.StatusCode
	a.Error, _ = got["error"].(string)
	if reason, _ := got["details"].(string); a.Code == 400 || a.Code == 404 || a.Code == 409 && a.Error == "Conflict" {
		a.Reason = reason
	}
	return a, got
}

// The fake answers as the real server of each version does, in each state.
func TestVersionsFakeIsTrue(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		real, _ := r.serve(t, t.TempDir())
		server := httptest.NewServer(fakegarm.New(r.version))
		t.Cleanup(server.Close)
		servers := []string{real, server.URL}
		tokens := map[string]string{}
		same := func(state, method, path, body string, withToken bool) {
			t.Helper()
			var answers []answer
			for _, base := range servers {
				token := "anonymous"
				if withToken {
					token = tokens[base]
				}
				a, got := ask(t, base, method, path, token, body)
				answers = append(answers, a)
				if got, ok := got["token"].(string); ok {
					tokens[base] = got
				}
			}
			if answers[0] != answers[1] {
				t.Errorf("%s: %s %s %s: the real one answers %+v, the fake one %+v", state, method, path, body, answers[0], answers[1])
			}
		}
		user := `{"username":"admin","password":"` + testgarm.Canary + `","email":"admin@localhost"}`
		strangers := func(state string) {
			same(state, "GET", "/controller", "", false)
			same(state, "PUT", "/controller", "{}", false)
			same(state, "GET", "/controller-info", "", false)
			same(state, "GET", "/no-such-thing", "", false)
			same(state, "POST", "/auth/login", `{"username":"admin","password":"wrong-kX9#mQ2$"}`, false)
			same(state, "POST", "/first-run", "{}", false)
		}
		admins := func(state string) {
			same(state, "POST", "/auth/login", user, false)
			same(state, "GET", "/controller", "", true)
			same(state, "GET", "/controller-info", "", true)
			same(state, "GET", "/no-such-thing", "", true)
		}
		strangers("fresh")
		same("fresh", "POST", "/first-run", `{"username":"admin","password":"weak","email":"admin@localhost"}`, false)
		same("fresh", "POST", "/first-run", user, false)
		strangers("no URLs")
		admins("no URLs")
		same("two URLs", "PUT", "/controller", `{"metadata_url":"https://a.b/m","callback_url":"https://a.b/c"}`, true)
		strangers("two URLs")
		admins("two URLs")
		same("all URLs", "PUT", "/controller", `{"webhook_url":"https://a.b/w","agent_url":"https://a.b/a"}`, true)
		strangers("all URLs")
		admins("all URLs")
		same("all URLs", "POST", "/first-run", user, false)
	})
}
