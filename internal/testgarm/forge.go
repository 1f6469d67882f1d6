package testgarm

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Forge is the least that garm takes for a Gitea: no runners, a token for
// whoever asks for one, and a webhook installed that is forgotten at once. It listens on every address; the result is its port.
func Forge(t testing.TB) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(answerAsForge))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().(*net.TCPAddr).Port
}

func answerAsForge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	var answer any = map[string]any{"id": 1, "name": "repo", "full_name": "org/repo"}
	switch {
	case strings.HasSuffix(r.URL.Path, "/hooks") && r.Method == http.MethodGet:
		answer = []any{}
	case strings.HasSuffix(r.URL.Path, "/hooks"):
		var hook map[string]any
		_ = json.NewDecoder(r.Body).Decode(&hook)
		hook["id"] = 1
		w.WriteHeader(http.StatusCreated)
		answer = hook
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		answer = map[string]string{"token": "forge-token"}
	case strings.Contains(r.URL.Path, "runners"):
		answer = map[string]any{"runners": []any{}, "total_count": 0}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// AddPool makes a pool that wants one idle runner from the provider, for a
// repository of the forge at that URL. It returns the pool's id.
func (c *Client) AddPool(token, forge, provider string) string {
	c.t.Helper()
	var repository, pool struct{ ID string }
	for _, step := range []struct {
		path   string
		body   map[string]any
		answer any
	}{
		{"/gitea/endpoints", map[string]any{"name": "forge", "description": "a double", "api_base_url": forge, "base_url": forge,
			"use_internal_tools_metadata": true}, nil},
		{"/gitea/credentials", map[string]any{"name": "forge", "description": "a double", "endpoint": "forge", "auth_type": "pat",
			"pat": map[string]string{"oauth2_token": "forge-token"}}, nil},
		{"/repositories", map[string]any{"owner": "org", "name": "repo", "credentials_name": "forge", "webhook_secret": "webhook-secret",
			"forge_type": "gitea"}, &repository},
		{"/repositories/@ID@/pools", map[string]any{"provider_name": provider, "max_runners": 2, "min_idle_runners": 1, "image": "image",
			"flavor": "flavor", "os_type": "linux", "os_arch": "amd64", "tags": []string{"tag"}, "enabled": true,
			"runner_bootstrap_timeout": 20}, &pool},
	} {
		path := strings.ReplaceAll(step.path, "@ID@", repository.ID)
		if status := c.do(http.MethodPost, path, token, step.body, step.answer); status != http.StatusOK {
			c.t.Fatalf("POST %s: status %d", path, status)
		}
	}
	return pool.ID
}

// Instance is a machine as garm knows it.
type Instance struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	PoolID     string `json:"pool_id"`
	ProviderID string `json:"provider_id"`
}

// Instances are all machines that garm knows.
func (c *Client) Instances(token string) (instances []Instance) {
	c.t.Helper()
	if status := c.do(http.MethodGet, "/instances", token, nil, &instances); status != http.StatusOK {
		c.t.Fatalf("GET /instances: status %d", status)
	}
	return instances
}

// DeleteInstance asks garm to delete a machine.
func (c *Client) DeleteInstance(token, name string) {
	c.t.Helper()
	if status := c.do(http.MethodDelete, "/instances/"+name, token, nil, nil); status != http.StatusOK {
		c.t.Fatalf("DELETE /instances/%s: status %d", name, status)
	}
}

// Pools are the ids of all pools that garm knows.
func (c *Client) Pools(token string) (ids []string) {
	c.t.Helper()
	var pools []struct{ ID string }
	if status := c.do(http.MethodGet, "/pools", token, nil, &pools); status != http.StatusOK {
		c.t.Fatalf("GET /pools: status %d", status)
	}
	for _, pool := range pools {
		ids = append(ids, pool.ID)
	}
	return ids
}
