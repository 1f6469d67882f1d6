package fakegarm

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// Versions that the server can be.
const (
	V014 = "v0.1.4"
	V015 = "v0.1.5"
	V018 = "v0.1.8"
	V021 = "v0.2.1"
)

// ConfigURL is what the config file of a v0.1.4 says.
const ConfigURL = "https://config.example.com"

// Server is a garm of one version. Its fields may be set before it serves, and under Lock afterwards.
type Server struct {
	sync.Mutex
	Version string
	// Users are the admins by name, with their passwords.
	Users map[string]string
	// Controller holds the fields of the controller, by JSON name.
	Controller map[string]any
	// Tokens that are accepted.
	Tokens map[string]bool
	// Requests that came in, "METHOD /path".
	Requests []string
	// Puts are the bodies of controller updates.
	Puts []map[string]any
	// Before may answer a request itself: it returns true then.
	Before func(w http.ResponseWriter, r *http.Request) bool
}

// New returns a fresh server: no admin, no URLs.
func New(version string) *Server {
	s := &Server{
		Version:    version,
		Users:      map[string]string{},
		Tokens:     map[string]bool{},
		Controller: map[string]any{"controller_id": uuid.NewString()},
	}
	if s.modern() {
		s.Controller["garm_agent_releases_url"] = "https://example.invalid/releases"
	}
	if version != V014 {
		s.Controller["version"] = version
	} else {
		// Its config file must have them.
		s.Controller["metadata_url"], s.Controller["callback_url"] = ConfigURL, ConfigURL
	}
	return s
}

func (s *Server) modern() bool { return s.Version == V021 }

// Count returns how many requests there were of "METHOD /path".
func (s *Server) Count(request string) int {
	s.Lock()
	defer s.Unlock()
	n := 0
	for _, r := range s.Requests {
		if r == request {
			n++
		}
	}
	return n
}

// ServeHTTP answers as garm's router and middlewares do.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	s.Requests = append(s.Requests, r.Method+" "+path)
	before := s.Before
	s.Unlock()
	if before != nil && before(w, r) {
		return
	}
	s.Lock()
	defer s.Unlock()
	switch r.Method + " " + path {
	case "POST /first-run":
		s.firstRun(w, r)
	case "POST /auth/login":
		s.login(w, r)
	case "GET /controller", "PUT /controller":
		s.controller(w, r)
	default:
		s.gated(w, r, path)
	}
}

func (s *Server) firstRun(w http.ResponseWriter, r *http.Request) {
	var body struct{ Username, Password, Email string }
	if len(s.Users) > 0 {
		Fail(w, http.StatusConflict, "Conflict", "already initialized")
		return
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Username == "" || body.Email == "" {
		Fail(w, http.StatusBadRequest, "Bad Request", "missing username or email")
		return
	}
	if body.Password == "weak" {
		Fail(w, http.StatusBadRequest, "Bad Request", "password is too weak")
		return
	}
	s.Users[body.Username] = body.Password
	Answer(w, map[string]any{"username": body.Username})
}

func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	var body struct{ Username, Password string }
	if s.modern() && len(s.Users) == 0 {
		Fail(w, http.StatusConflict, "init_required", "Missing superuser")
		return
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	if password, ok := s.Users[body.Username]; !ok || password != body.Password {
		Fail(w, http.StatusUnauthorized, "Not Authorized", "You do not have the required permissions")
		return
	}
	token := uuid.NewString()
	s.Tokens[token] = true
	Answer(w, map[string]any{"token": token})
}

func (s *Server) authorised(w http.ResponseWriter, r *http.Request) bool {
	if !s.Tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
		Fail(w, http.StatusUnauthorized, "Authentication failed", "Invalid token")
		return false
	}
	return true
}

func (s *Server) controller(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.Version == V014:
		s.gated(w, r, "/controller")
	case s.modern() && len(s.Users) == 0:
		Fail(w, http.StatusConflict, "init_required", "Missing superuser")
	case !s.authorised(w, r):
	case r.Method == http.MethodGet:
		Answer(w, s.Controller)
	default:
		s.update(w, r)
	}
}

func (s *Server) update(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	s.Puts = append(s.Puts, body)
	for name, value := range body {
		switch name {
		case "agent_url", "ca_cert_bundle":
			// v0.1.x answers 200 and forgets.
			if !s.modern() {
				continue
			}
		}
		s.Controller[name] = value
	}
	Answer(w, s.Controller)
}

// gated is everything behind garm's gates: init (v0.2 only sees it), URLs, token.
func (s *Server) gated(w http.ResponseWriter, r *http.Request, path string) {
	set := func(name string) bool { v, _ := s.Controller[name].(string); return v != "" }
	switch {
	case s.modern() && len(s.Users) == 0:
		Fail(w, http.StatusConflict, "init_required", "Missing superuser")
	case s.Version != V014 && !(set("metadata_url") && set("callback_url") && (s.Version != V015 || set("webhook_url"))):
		Fail(w, http.StatusConflict, "urls_required", "Missing required URLs")
	case !s.authorised(w, r):
	case path == "/controller-info":
		Answer(w, s.Controller)
	default:
		Fail(w, http.StatusNotFound, "Not found", "Resource not found")
	}
}

// Fail answers with garm's error body.
func Fail(w http.ResponseWriter, code int, kind, details string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": kind, "details": details})
}

// Answer answers 200 with JSON.
func Answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}
