package testgarm

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"testing"
	"time"
)

// Client asks a garm server what tests want to know, without our own client code.
// It trusts any certificate. A status of 0 means that there was no answer.
type Client struct {
	t    testing.TB
	base string
	http *http.Client
}

// API makes a client for the server at baseURL, which has no slash at its end.
func API(t testing.TB, baseURL string) *Client {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true, // no connection that holds garm's stop
	}
	return &Client{t: t, base: baseURL + "/api/v1", http: &http.Client{Transport: transport, Timeout: 10 * time.Second}}
}

// User is the body of a first run.
type User struct {
	Username string `json:"username"`
	Password string `json:"password"`
	Email    string `json:"email"`
	FullName string `json:"full_name"`
}

// Controller is what a server says about itself.
type Controller struct {
	ID          string `json:"controller_id"`
	Hostname    string `json:"hostname"`
	MetadataURL string `json:"metadata_url"`
	CallbackURL string `json:"callback_url"`
	WebhookURL  string `json:"webhook_url"`
	AgentURL    string `json:"agent_url"`
	CABundle    []byte `json:"ca_cert_bundle"`
	Version     string `json:"version"`
}

// Up tells whether the server answers HTTP at all. It leaves no mark on it.
func (c *Client) Up() bool {
	return c.do(http.MethodGet, "/controller", "", nil, nil) != 0
}

// FirstRun tries to make the first user the admin.
func (c *Client) FirstRun(user User) (status int) {
	return c.do(http.MethodPost, "/first-run", "", user, nil)
}

// Login returns a token when the status is 200.
func (c *Client) Login(username, password string) (token string, status int) {
	var answer struct{ Token string }
	status = c.do(http.MethodPost, "/auth/login", "", User{Username: username, Password: password}, &answer)
	return answer.Token, status
}

// Controller reads the controller with a token.
func (c *Client) Controller(token string) (controller Controller, status int) {
	status = c.do(http.MethodGet, "/controller", token, nil, &controller)
	return controller, status
}

// LegacyController reads the controller as garm v0.1.4 has it.
func (c *Client) LegacyController(token string) (controller Controller, status int) {
	status = c.do(http.MethodGet, "/controller-info", token, nil, &controller)
	return controller, status
}

// Update changes fields of the controller, by their JSON names.
func (c *Client) Update(token string, fields map[string]string) (status int) {
	return c.do(http.MethodPut, "/controller", token, fields, nil)
}

func (c *Client) do(method, path, token string, body, answer any) int {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	if answer != nil && response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			c.t.Errorf("%s %s: %v", method, path, err)
		}
	}
	return response.StatusCode
}

// Put changes an object, by JSON names, and fails the test when garm refuses.
func (c *Client) Put(token, path string, fields map[string]any) {
	c.t.Helper()
	if status := c.do(http.MethodPut, path, token, fields, nil); status != http.StatusOK {
		c.t.Fatalf("PUT %s: status %d", path, status)
	}
}
