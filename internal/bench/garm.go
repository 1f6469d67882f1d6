package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"garm-entrypoint/internal/testgarm"
)

// server is a garm, alone or under our entrypoint.
type server struct {
	*process
	began time.Duration // when its first process was started
	log   string        // garm's own
	base  string
}

// site is a directory with a config and no database yet.
type site struct {
	b            *bench
	dir, config  string
	port, starts int
}

func (b *bench) newSite(port int) *site {
	dir, err := os.MkdirTemp(b.dir, "garm-")
	if err != nil {
		b.Fatal(err)
	}
	return &site{b: b, dir: dir, port: port, config: testgarm.Config(b, dir, func(s *testgarm.Settings) { s.Port = port })}
}

func (s *site) base() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

// environment of our entrypoint.
func (s *site) environment(binary string, extra ...string) []string {
	return append([]string{"GARM_CONFIG=" + s.config, "GARM_BINARY=" + binary, "GARM_PASSWORD=" + testgarm.Canary,
		"GARM_BASE_URL=" + s.base(), "GARM_CLI_PROFILE=false"}, extra...)
}

// alone starts garm by itself.
func (s *site) alone() *server { return s.start(nil, s.b.garm, "--config", s.config) }

// under starts garm under our entrypoint.
func (s *site) under(extra ...string) *server {
	return s.start(s.environment(s.b.garm, extra...), s.b.entrypoint, "run")
}

func (s *site) start(env []string, argv ...string) *server {
	s.starts++
	path := filepath.Join(s.dir, fmt.Sprintf("garm-%d.log", s.starts))
	log, err := os.Create(path)
	if err != nil {
		s.b.Fatal(err)
	}
	defer log.Close()
	began := monotonic()
	return &server{process: s.b.start(how{env: env, output: log, errors: true}, argv...), began: began, log: path, base: s.base()}
}

// accepts returns when the listener accepts the first connection.
func (s *server) accepts() time.Duration {
	var port int
	if _, err := fmt.Sscanf(s.base, "http://127.0.0.1:%d", &port); err != nil {
		s.b.Fatal(err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Microsecond) {
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			s.b.Fatal(err)
		}
		err = unix.Connect(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
		at := monotonic()
		_ = unix.Close(socket)
		if err == nil {
			return at
		}
	}
	s.b.Fatalf("garm does not listen on port %d", port)
	return 0
}

// ready returns when our entrypoint says so.
func (s *server) ready() time.Duration {
	_ = s.err.SetReadDeadline(time.Now().Add(patience))
	var said bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(s.err, &said))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "msg=ready ") {
			return monotonic()
		}
	}
	s.b.Fatalf("garm-entrypoint does not become ready: %v\n%s", lines.Err(), said.String())
	return 0
}

// stop asks for a clean end.
func (s *server) stop() {
	s.signal(syscall.SIGTERM)
	s.expect(0)
}

// accesses are the requests in garm's log so far.
func (s *server) accesses() (lines []string) {
	data, err := os.ReadFile(s.log)
	if err != nil {
		s.b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "msg=access_log") {
			lines = append(lines, line)
		}
	}
	return lines
}

// connection asks a server one request after the other.
type connection struct {
	s     *server
	http  http.Client
	token string
}

func (s *server) connect() *connection {
	return &connection{s: s, http: http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: patience}}
}

func (c *connection) close() { c.http.CloseIdleConnections() }

// ask sends one request; the answer must have this status.
func (c *connection) ask(status int, method, path string, body any) []byte {
	b := c.s.b
	b.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequest(method, c.s.base+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		b.Fatalf("%s %s: status %d, not %d: %s (%v)", method, path, response.StatusCode, status, answer, err)
	}
	return answer
}

// logIn expects this status, and keeps the token.
func (c *connection) logIn(status int) {
	answer := c.ask(status, http.MethodPost, "/auth/login", testgarm.User{Username: "admin", Password: testgarm.Canary})
	var login struct{ Token string }
	if status == http.StatusOK {
		if err := json.Unmarshal(answer, &login); err != nil {
			c.s.b.Fatal(err)
		}
	}
	c.token = login.Token
}

// initialise sends what our entrypoint sends to a new server.
func (c *connection) initialise() {
	c.logIn(http.StatusConflict)
	c.ask(http.StatusOK, http.MethodPost, "/first-run",
		testgarm.User{Username: "admin", Password: testgarm.Canary, Email: "admin@localhost", FullName: "Admin"})
	c.logIn(http.StatusOK)
	c.ask(http.StatusOK, http.MethodGet, "/controller", nil)
	c.ask(http.StatusOK, http.MethodPut, "/controller", testgarm.Controller{
		MetadataURL: c.s.base + "/api/v1/metadata", CallbackURL: c.s.base + "/api/v1/callbacks",
		WebhookURL: c.s.base + "/webhooks", AgentURL: c.s.base + "/agent",
	})
	c.ask(http.StatusOK, http.MethodGet, "/controller", nil)
}

// prove sends what our entrypoint sends to a server that is initialised.
func (c *connection) prove() {
	c.logIn(http.StatusOK)
	c.ask(http.StatusOK, http.MethodGet, "/controller", nil)
}
