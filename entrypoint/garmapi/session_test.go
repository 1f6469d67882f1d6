package garmapi_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/internal/fakegarm"
)

const password = "canary-kX9#mQ2$"

// read asks for what needs a login.
var read = garmapi.Request{Op: "look", Method: "GET", Path: "/controller"}

func sessionOf(t *testing.T, garm *fakegarm.Server, o garmapi.SessionOptions) *garmapi.Session {
	t.Helper()
	garm.Users["admin"] = password
	for _, field := range []string{"metadata_url", "callback_url", "webhook_url"} {
		garm.Controller[field] = "https://garm.example.com"
	}
	o.Username = "admin"
	return garmapi.NewSession(clientOf(t, garm, nil), o)
}

func TestSessionLogsInWhenItHasTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token, password string
		logins          int
		fails           bool
	}{
		"no token":            {password: password, logins: 1},
		"a good token":        {token: "good", logins: 0},
		"a refused token":     {token: "stale", password: password, logins: 1},
		"wrong password":      {password: "other", logins: 1, fails: true},
		"refused, no other":   {token: "stale", fails: true},
		"neither":             {fails: true},
		"refused, and wrong ": {token: "stale", password: "other", logins: 1, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garm := fakegarm.New(fakegarm.V021)
			garm.Tokens["good"] = true
			var tokens []string
			s := sessionOf(t, garm, garmapi.SessionOptions{Token: c.token, Password: c.password,
				OnToken: func(token string) { tokens = append(tokens, token) }})
			for range 2 {
				err := s.Do(t.Context(), read)
				if (err != nil) != c.fails || err != nil && c.password == "" && !errors.Is(err, garmapi.ErrNoPassword) {
					t.Fatalf("%v", err)
				}
				if c.fails {
					break
				}
			}
			if n := garm.Count("POST /auth/login"); n != c.logins {
				t.Errorf("%d logins, want %d", n, c.logins)
			}
			if !c.fails && (len(tokens) != c.logins || s.Token() == "" || s.Token() == "stale") {
				t.Errorf("token %q, told of %q", s.Token(), tokens)
			}
		})
	}
}

// A token that is refused again right after the login is an error, and no loop.
func TestSessionTriesOnce(t *testing.T) {
	t.Parallel()
	garm := fakegarm.New(fakegarm.V021)
	garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/auth/login") {
			return false
		}
		fakegarm.Fail(w, 401, "Not Authorized", "")
		return true
	}
	err := sessionOf(t, garm, garmapi.SessionOptions{Password: password}).Do(t.Context(), read)
	if !garmapi.RefusesToken(err) || garm.Count("POST /auth/login") != 2 || garm.Count("GET /controller") != 2 {
		t.Errorf("%v after %v", err, garm.Requests)
	}
}

// Of many whose token is refused at the same time one logs in, and all are served.
func TestSessionIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	garm := fakegarm.New(fakegarm.V021)
	s := sessionOf(t, garm, garmapi.SessionOptions{Token: "stale", Password: password})
	const many = 20
	var refused sync.WaitGroup
	refused.Add(many)
	garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") != "Bearer stale" {
			return false
		}
		refused.Done()
		refused.Wait() // all hold the same token
		fakegarm.Fail(w, 401, "Not Authorized", "")
		return true
	}
	errs := make(chan error, many)
	for range many {
		go func() { errs <- s.Do(t.Context(), read) }()
	}
	for range many {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := garm.Count("POST /auth/login"); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// Who waits for another's login may give up.
func TestSessionWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	garm := fakegarm.New(fakegarm.V021)
	reached, release := make(chan struct{}), make(chan struct{})
	garm.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/auth/login") {
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 0))
			close(reached)
			<-release
		}
		return false
	}
	s := sessionOf(t, garm, garmapi.SessionOptions{Password: password})
	first := make(chan error, 1)
	go func() { first <- s.Do(t.Context(), read) }()
	<-reached
	var request *garmapi.RequestError
	if err := s.Do(within(t, 20*time.Millisecond), read); !errors.As(err, &request) {
		t.Errorf("%v", err)
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// Only the token that was refused is dropped.
func TestSessionDropToken(t *testing.T) {
	t.Parallel()
	s := garmapi.NewSession(nil, garmapi.SessionOptions{Token: "new"})
	if s.DropToken("old"); s.Token() != "new" {
		t.Errorf("token %q", s.Token())
	}
	if s.DropToken("new"); s.Token() != "" {
		t.Errorf("token %q", s.Token())
	}
}

func TestExpires(t *testing.T) {
	t.Parallel()
	in := func(d time.Duration) string {
		return "h." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, time.Now().Add(d).Unix())) + ".s"
	}
	for token, want := range map[string]bool{
		"": false, "opaque": false, "a.%.c": false, "a.e30.c": false, in(time.Hour): false, in(time.Minute): true, in(-time.Minute): true,
	} {
		if got := garmapi.Expires(token, 10*time.Minute); got != want {
			t.Errorf("%q: %v", token, got)
		}
	}
}
