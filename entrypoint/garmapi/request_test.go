package garmapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// What is sent is what was asked for, whatever a name holds.
func TestDoSends(t *testing.T) {
	t.Parallel()
	type sent struct{ method, uri, token, body, contentType, agent string }
	var got sent
	c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = sent{r.Method, r.RequestURI, r.Header.Get("Authorization"), strings.TrimSpace(string(body)),
			r.Header.Get("Content-Type"), r.UserAgent()}
		w.WriteHeader(http.StatusNoContent)
	}), func(o *garmapi.Options) { o.UserAgent, o.Server.Path = "us/1", "/pre/" })
	for name, c2 := range map[string]struct {
		token   string
		request garmapi.Request
		want    sent
	}{
		"plain": {"token-9", garmapi.Request{Method: "GET", Path: "/pools"}, sent{"GET", "/pre/api/v1/pools", "Bearer token-9", "", "", "us/1"}},
		"query": {"token-9", garmapi.Request{Method: "GET", Path: "/pools", Query: url.Values{"a": {"b c"}}},
			sent{"GET", "/pre/api/v1/pools?a=b+c", "Bearer token-9", "", "", "us/1"}},
		"body": {"", garmapi.Request{Method: "PUT", Path: "x/y", Body: map[string]int{"n": 1}},
			sent{"PUT", "/pre/api/v1/x/y", "", `{"n":1}`, "application/json", "us/1"}},
		"names": {"token-9", garmapi.Request{Method: "DELETE", Path: "/credentials/" + url.PathEscape("a/b {0}?c%#ü")},
			sent{"DELETE", "/pre/api/v1/credentials/" + url.PathEscape("a/b {0}?c%#ü"), "Bearer token-9", "", "", "us/1"}},
	} {
		if err := c.Do(t.Context(), c2.token, c2.request); err != nil || got != c2.want {
			t.Errorf("%s: sent %+v, want %+v (%v)", name, got, c2.want, err)
		}
	}
	for _, path := range []string{"", "/a//b", "/a/../b", "/a/%2e%2e", "/%zz"} {
		if err := c.Do(t.Context(), "token-9", garmapi.Request{Op: "look", Method: "GET", Path: path}); err == nil {
			t.Errorf("path %q was sent as %s", path, got.uri)
		}
	}
}

// Any 2xx is success; everything else is an *Error or a *RequestError, and shows no secret.
func TestDoAnswers(t *testing.T) {
	t.Parallel()
	const secret = "canary \"kX9"
	quoted, _ := json.Marshal(secret)
	for name, c := range map[string]struct {
		code        int
		header      http.Header
		body, text  string
		kind        string
		unreachable bool
	}{
		"200":           {code: 200, body: `{"id":"x"}`},
		"201":           {code: 201, body: `{"id":"x"}`},
		"garm's 409":    {code: 409, body: `{"error":"Conflict","details":"no"}`, text: "create pool: the server answered 409 (no)", kind: "Conflict"},
		"an echo":       {code: 400, body: `{"error":"Bad","details":` + string(quoted) + `}`, text: "create pool: the server answered 400 ([secret])", kind: "Bad"},
		"a proxy's 502": {code: 502, body: "<html>", text: "create pool: the server answered 502"},
		"redirect": {code: 307, header: http.Header{"Location": {"https://other/" + url.PathEscape(secret)}},
			text: "create pool: the server answered 307 (redirect to https://other/[secret], not followed: use the final URL)"},
		"garbage": {code: 200, body: "<html>canary", text: "create pool: cannot read the answer 200 (is this garm?): invalid character '<'", unreachable: true},
		"nothing": {code: 204, text: "create pool: cannot read the answer 204 (is this garm?): EOF", unreachable: true},
		"odd type": {code: 503, header: http.Header{"Content-Type": {"image/png"}},
			text: "create pool: the server answered 503"},
		"too long": {code: 201, body: `{"id":"` + strings.Repeat("x", 2<<20), text: "longer than 1048576 bytes", unreachable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range c.header {
					w.Header()[k] = v
				}
				w.WriteHeader(c.code)
				_, _ = io.WriteString(w, c.body)
			}), nil)
			var into struct{ ID string }
			err := client.Do(t.Context(), "token-9", garmapi.Request{
				Op: "create pool", Method: "POST", Path: "/pools", Body: 1, Into: &into, Secrets: []string{secret},
			})
			var answer *garmapi.Error
			var request *garmapi.RequestError
			switch {
			case c.text == "":
				if err != nil || into.ID != "x" {
					t.Errorf("%v, decoded %+v", err, into)
				}
			case err == nil || !strings.Contains(err.Error(), c.text) || strings.Contains(err.Error(), "canary"):
				t.Errorf("%v, want %s", err, c.text)
			case c.unreachable != errors.As(err, &request), c.unreachable == errors.As(err, &answer):
				t.Errorf("%T", err)
			case !c.unreachable && (answer.Code != c.code || answer.Kind != c.kind || answer.Op != "create pool"):
				t.Errorf("%+v", answer)
			}
			if _, garm := garmapi.FromGarm(err); garm != (c.kind != "") {
				t.Errorf("from garm: %v", garm)
			}
		})
	}
}

// A list may be long: 370 kB are usual, and what is not a list's is bounded sooner.
func TestDoReadsLongLists(t *testing.T) {
	t.Parallel()
	one := `{"id":"` + strings.Repeat("x", 1000) + `"}`
	list := "[" + strings.Repeat(one+",", 4000) + one + "]"
	c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, list) }), nil)
	var into []struct{ ID string }
	if err := c.Do(t.Context(), "token-9", garmapi.Request{Op: "list pools", Method: "GET", Path: "/pools", Into: &into}); err != nil || len(into) != 4001 {
		t.Errorf("%v, %d of them", err, len(into))
	}
}

// A password that the client has sent is removed from every later answer too, and so is the token.
func TestHidesWhatWasSent(t *testing.T) {
	t.Parallel()
	c := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":"Bad","details":"canary-password and %s"}`, r.Header.Get("Authorization"))
	}), nil)
	_, err := c.Login(t.Context(), "admin", "canary-password")
	for n, err := range []error{err,
		c.Do(t.Context(), "canary-token", garmapi.Request{Op: "look", Method: "GET", Path: "/pools"}),
		func() error { _, _, err := c.ReadController(t.Context(), "canary-token"); return err }(),
	} {
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "[secret]") {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// Each request has its own time limit.
func TestDoTimeout(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	var asked atomic.Int32
	c := clientOf(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}), nil)
	err := c.Do(within(t, 20*time.Second), "token-9", garmapi.Request{Op: "look", Method: "GET", Path: "/pools", Timeout: 50 * time.Millisecond})
	var request *garmapi.RequestError
	if !errors.As(err, &request) || !errors.Is(err, context.DeadlineExceeded) || asked.Load() != 1 || !c.LastAnswer().IsZero() {
		t.Errorf("%v, asked %d times", err, asked.Load())
	}
}

// OnAnswer is called once, whoever asks.
func TestOnAnswer(t *testing.T) {
	t.Parallel()
	var called atomic.Int32
	c := clientOf(t, http.NotFoundHandler(), func(o *garmapi.Options) { o.OnAnswer = func() { called.Add(1) } })
	for range 3 {
		if err := c.Knock(t.Context()); !garmapi.Is(err, 404) {
			t.Errorf("%v", err)
		}
	}
	if called.Load() != 1 || c.LastAnswer().IsZero() {
		t.Errorf("called %d times, last answer %v", called.Load(), c.LastAnswer())
	}
}

// TestPlainServer: https where garm speaks http is named for what it is, and tells what to do.
func TestPlainServer(t *testing.T) {
	t.Parallel()
	c := clientOf(t, http.NotFoundHandler(), func(o *garmapi.Options) { o.Server.Scheme = "https" })
	err := c.Do(t.Context(), "", garmapi.Request{Op: "look", Method: "GET", Path: "/pools"})
	if !errors.Is(err, http.ErrSchemeMismatch) || !strings.Contains(err.Error(), "use_tls = true") {
		t.Errorf("a plain server, asked by https: %v", err)
	}
	if err := c.Knock(t.Context()); err == nil || !strings.Contains(err.Error(), "use_tls = true") {
		t.Errorf("a plain server, knocked at by https: %v", err)
	}
}
