package initializer_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

const password = "canary-kX9#mQ2$ \"quoted\" ünïcode"

var urls = initializer.Controller{
	MetadataURL: "https://garm.example.com/api/v1/metadata",
	CallbackURL: "https://garm.example.com/api/v1/callbacks",
	WebhookURL:  "https://garm.example.com/webhooks",
	AgentURL:    "https://garm.example.com/agent",
}

// logBuffer collects log lines; it may be read while it is written to.
type logBuffer struct {
	sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.text.String()
}

func (b *logBuffer) count(what string) int { return strings.Count(b.String(), what) }

// bench is an initialiser in front of a fake garm.
type bench struct {
	*initializer.Initializer
	garm *fakegarm.Server
	log  *logBuffer
}

// newBench makes one; change may alter the options.
func newBench(t *testing.T, garm *fakegarm.Server, change func(*initializer.Options)) *bench {
	t.Helper()
	server := httptest.NewServer(garm)
	t.Cleanup(server.Close)
	return benchAt(t, garm, server.URL, initializer.NewTransport(initializer.Trust{}, nil), change)
}

// newLocalBench makes one without a network, for virtual time.
func newLocalBench(t *testing.T, garm *fakegarm.Server, change func(*initializer.Options)) *bench {
	t.Helper()
	return benchAt(t, garm, "http://garm", local{garm}, change)
}

// local carries requests to a handler.
type local struct{ http.Handler }

func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w.Result(), nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func benchAt(t *testing.T, garm *fakegarm.Server, server string, transport http.RoundTripper, change func(*initializer.Options)) *bench {
	t.Helper()
	u, _ := url.Parse(server)
	log := &logBuffer{}
	options := initializer.Options{
		Server:      u,
		Transport:   transport,
		Credentials: initializer.Credentials{Username: "admin", Password: password, Email: "admin@localhost", FullName: "Admin"},
		Want:        urls,
		Logger:      slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&options)
	}
	i, err := initializer.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if strings.Contains(log.String(), "canary") {
			t.Errorf("the log shows the password:\n%s", log)
		}
	})
	return &bench{Initializer: i, garm: garm, log: log}
}

// within is a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// ensure must succeed.
func (b *bench) ensure(t *testing.T) initializer.Result {
	t.Helper()
	result, err := b.Ensure(within(t, 20*time.Second))
	if err != nil {
		t.Fatalf("Ensure: %v\n%s", err, b.log)
	}
	return result
}

// watch runs Watch until the test ends.
func (b *bench) watch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Watch(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v", err)
		}
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("did not happen: %s", what)
		}
	}
}

// on answers one kind of request itself.
func on(request string, answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1") != request {
			return false
		}
		answer(w, r)
		return true
	}
}
