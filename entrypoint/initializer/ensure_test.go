package initializer_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

var versions = []string{fakegarm.V014, fakegarm.V015, fakegarm.V018, fakegarm.V021}

func TestEnsureFresh(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			b := newBench(t, fakegarm.New(version), nil)
			result := b.ensure(t)
			if !result.AdminCreated || b.garm.Users["admin"] != password {
				t.Errorf("admin not created as asked: %+v, users %v", result, b.garm.Users)
			}
			want := map[string][]string{
				fakegarm.V014: {"metadata URL", "callback URL", "webhook URL", "agent URL"},
				fakegarm.V015: {"agent URL"}, fakegarm.V018: {"agent URL"},
			}[version]
			if !reflect.DeepEqual(result.Unsupported, want) {
				t.Errorf("unsupported: %q, want %q", result.Unsupported, want)
			}
			wantPuts := 1
			if version == fakegarm.V014 {
				wantPuts = 0 // it has no such endpoint
			}
			if len(b.garm.Puts) != wantPuts {
				t.Errorf("%d PUTs, want %d", len(b.garm.Puts), wantPuts)
			}
			// Again: proven by one login and one look, nothing sent that changes.
			firstRuns, putsBefore := b.garm.Count("POST /first-run"), len(b.garm.Puts)
			result = b.ensure(t)
			if result.AdminCreated || len(result.Changed) > 0 || b.garm.Count("POST /first-run") != firstRuns || len(b.garm.Puts) != putsBefore {
				t.Errorf("the second Ensure changed something: %+v", result)
			}
		})
	}
}

func TestEnsureSendsOnlyWhatDiffers(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	garm.Users["admin"] = password
	garm.Controller["metadata_url"] = urls.MetadataURL
	garm.Controller["callback_url"] = "https://old.example.com/api/v1/callbacks"
	garm.Controller["agent_url"] = urls.AgentURL
	b := newBench(t, garm, nil)
	b.ensure(t)
	want := []map[string]any{{"callback_url": urls.CallbackURL, "webhook_url": urls.WebhookURL}}
	if !reflect.DeepEqual(garm.Puts, want) {
		t.Errorf("PUTs %v, want %v", garm.Puts, want)
	}
}

// A token that the server still takes saves the login; one that it refuses, or that is for a server without an admin,
// does not get in the way.
func TestEnsureToken(t *testing.T) {
	for name, c := range map[string]struct {
		good, admin  bool
		logins, runs int
	}{
		"good": {good: true, admin: true}, "refused": {admin: true, logins: 1}, "no admin": {good: true, logins: 2, runs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			garm := fakegarm.New(fakegarm.V021)
			if c.admin {
				garm.Users["admin"] = password
			}
			garm.Tokens["earlier"] = c.good
			b := newBench(t, garm, func(o *initializer.Options) { o.Token = "earlier" })
			b.ensure(t)
			if l, r := garm.Count("POST /auth/login"), garm.Count("POST /first-run"); l != c.logins || r != c.runs {
				t.Errorf("%d logins and %d first runs, want %d and %d", l, r, c.logins, c.runs)
			}
			if garm.Controller["metadata_url"] != urls.MetadataURL || b.Token() == "" || (b.Token() == "earlier") != (c.good && c.admin) {
				t.Errorf("controller %v, token %q", garm.Controller, b.Token())
			}
		})
	}
}

func TestEnsureFallback(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	garm.Users["admin"] = password
	garm.Controller["metadata_url"] = "https://set.by.hand/m"
	garm.Controller["callback_url"] = "https://initial.callback.garm.local"
	b := newBench(t, garm, func(o *initializer.Options) { o.Want, o.Fallback = initializer.Controller{}, urls })
	result := b.ensure(t)
	if garm.Controller["metadata_url"] != "https://set.by.hand/m" || garm.Controller["callback_url"] != urls.CallbackURL || result.URLsMissing {
		t.Errorf("controller %v, result %+v", garm.Controller, result)
	}
}

// Whatever the first run answers, the login decides.
func TestEnsureLoginDecides(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"409 initialised": func(w http.ResponseWriter, _ *http.Request) { fakegarm.Fail(w, 409, "Conflict", "already initialized") },
		"400 lost race": func(w http.ResponseWriter, _ *http.Request) {
			fakegarm.Fail(w, 400, "Bad Request", "admin user already exists")
		},
		"404 lost race": func(w http.ResponseWriter, _ *http.Request) { fakegarm.Fail(w, 404, "Not Found", "") },
		"409 broken table": func(w http.ResponseWriter, _ *http.Request) {
			fakegarm.Fail(w, 409, "Conflict", "username already exists")
		},
	}
	for name, answer := range answers {
		for _, theirs := range []string{password, "somebody else's"} {
			t.Run(name+" "+theirs[:4], func(t *testing.T) {
				garm := fakegarm.New(fakegarm.V021)
				garm.Before = on("POST /first-run", func(w http.ResponseWriter, r *http.Request) {
					garm.Lock()
					garm.Users["admin"] = theirs
					garm.Unlock()
					answer(w, r)
				})
				for _, first := range []bool{false, true} {
					b := newBench(t, garm, func(o *initializer.Options) { o.FirstBoot = first })
					result, err := b.Ensure(within(t, 20*time.Second))
					var mismatch *initializer.MismatchError
					var takeover *initializer.TakeoverError
					switch {
					case theirs == password && (err != nil || result.AdminCreated):
						t.Errorf("lost the race against ourselves: %+v, %v", result, err)
					case theirs != password && first && !errors.As(err, &takeover):
						t.Errorf("first boot: %v, want a takeover", err)
					case theirs != password && !first && !errors.As(err, &mismatch):
						t.Errorf("later boot: %v, want a mismatch", err)
					}
				}
			})
		}
	}
}

func TestEnsureRetries(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { fakegarm.Fail(w, 500, "Server error", "") },
		"502 of a proxy": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>bad gateway", http.StatusBadGateway)
		},
		"404 of a proxy": func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) },
		"TLS port": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Client sent an HTTP request to an HTTPS server.", http.StatusBadRequest)
		},
		"200 of garbage": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"200 of nothing": func(w http.ResponseWriter, _ *http.Request) { fakegarm.Answer(w, map[string]any{}) },
		"odd type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			w.WriteHeader(503)
		},
		"broken type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", ";;;")
			w.WriteHeader(503)
		},
		"reset": func(w http.ResponseWriter, _ *http.Request) {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
		},
	} {
		for _, request := range []string{"POST /auth/login", "POST /first-run", "GET /controller", "PUT /controller"} {
			t.Run(name+" "+request, func(t *testing.T) {
				t.Parallel()
				garm := fakegarm.New(fakegarm.V021)
				failures := 2
				garm.Before = on(request, answer)
				broken := garm.Before
				garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
					garm.Lock()
					fail := failures > 0
					garm.Unlock()
					if !fail || !broken(w, r) {
						return false
					}
					garm.Lock()
					failures--
					garm.Unlock()
					return true
				}
				b := newBench(t, garm, nil)
				if result := b.ensure(t); garm.Users["admin"] != password || !result.AdminCreated {
					t.Errorf("result %+v, users %v", result, garm.Users)
				}
			})
		}
	}
}

// A broken users table: every call says init_required, the first run 409.
func TestEnsureBrokenTable(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	garm.Before = on("POST /first-run", func(w http.ResponseWriter, _ *http.Request) {
		fakegarm.Fail(w, 409, "Conflict", "username already exists")
	})
	b := newBench(t, garm, func(o *initializer.Options) { o.FirstBoot = true })
	_, err := b.Ensure(within(t, 300*time.Millisecond))
	var unreachable *initializer.UnreachableError
	if !errors.As(err, &unreachable) || !unreachable.Answered || !strings.Contains(err.Error(), "Missing superuser") {
		t.Errorf("%v, want that the server did not become initialised, and why", err)
	}
	// The pauses grow: a server in trouble is not hammered.
	if n := garm.Count("POST /first-run"); n > 4 {
		t.Errorf("%d first runs in 300 ms", n)
	}
}

func TestEnsureRefused(t *testing.T) {
	for name, c := range map[string]struct {
		code          int
		details       string
		configuration bool
	}{
		"weak":  {400, "password is too weak", true},
		"wrong": {405, "no first run here", false},
		"gone":  {404, "Resource not found", false},
	} {
		t.Run(name, func(t *testing.T) {
			garm := fakegarm.New(fakegarm.V021)
			garm.Before = on("POST /first-run", func(w http.ResponseWriter, _ *http.Request) {
				fakegarm.Fail(w, c.code, "Refused", c.details)
			})
			_, err := newBench(t, garm, nil).Ensure(within(t, 20*time.Second))
			var refused *initializer.RefusedError
			if !errors.As(err, &refused) || refused.Configuration != c.configuration || !strings.Contains(err.Error(), c.details) {
				t.Errorf("%#v", err)
			}
			if n := garm.Count("POST /first-run"); n != 1 {
				t.Errorf("%d first runs, want 1: a refusal is final", n)
			}
		})
	}
}

func TestEnsureUnknownPassword(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			garm := fakegarm.New(version)
			made := 0
			b := newBench(t, garm, func(o *initializer.Options) {
				o.Credentials.Password = ""
				o.NewPassword = func() (string, error) {
					made++
					garm.Lock()
					defer garm.Unlock()
					if len(garm.Users) > 0 {
						t.Error("the admin exists before the password was kept")
					}
					return password, nil
				}
			})
			b.ensure(t)
			if made != 1 || garm.Users["admin"] != password || b.Password() != password {
				t.Errorf("made %d, users %v", made, garm.Users)
			}
		})
		t.Run(version+" has an admin", func(t *testing.T) {
			garm := fakegarm.New(version)
			garm.Users["admin"] = "other"
			b := newBench(t, garm, func(o *initializer.Options) {
				o.Credentials.Password = ""
				o.NewPassword = func() (string, error) { t.Error("asked for a password"); return "", nil }
			})
			_, err := b.Ensure(within(t, 20*time.Second))
			var mismatch *initializer.MismatchError
			if !errors.As(err, &mismatch) || !mismatch.NoPassword {
				t.Errorf("%v, want a mismatch without password", err)
			}
		})
	}
}

func TestEnsureForgetsPasswordOfALostRace(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	garm.Before = on("POST /first-run", func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); bytes.Equal(bytes.TrimSpace(body), []byte("{}")) {
			fakegarm.Fail(w, 400, "Bad Request", "missing username or email")
			return
		}
		garm.Lock()
		garm.Users["admin"] = "somebody else's"
		garm.Unlock()
		fakegarm.Fail(w, 409, "Conflict", "already initialized")
	})
	forgotten := 0
	b := newBench(t, garm, func(o *initializer.Options) {
		o.Credentials.Password = ""
		o.NewPassword = func() (string, error) { return password, nil }
		o.ForgetPassword = func() error { forgotten++; return nil }
	})
	_, err := b.Ensure(within(t, 20*time.Second))
	var mismatch *initializer.MismatchError
	if !errors.As(err, &mismatch) || forgotten != 1 || b.Password() != "" {
		t.Errorf("%v, forgotten %d times, password %q", err, forgotten, b.Password())
	}
}

func TestEnsureNewPasswordFails(t *testing.T) {
	disk := errors.New("disk full")
	garm := fakegarm.New(fakegarm.V021)
	b := newBench(t, garm, func(o *initializer.Options) {
		o.Credentials.Password = ""
		o.NewPassword = func() (string, error) { return "", disk }
	})
	if _, err := b.Ensure(within(t, 20*time.Second)); !errors.Is(err, disk) || len(garm.Users) > 0 {
		t.Errorf("%v, users %v", err, garm.Users)
	}
}

func TestEnsureNoServer(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), func(o *initializer.Options) { o.Server.Host = "127.0.0.1:1" })
	_, err := b.Ensure(within(t, 100*time.Millisecond))
	var unreachable *initializer.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Answered || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%v", err)
	}
}

// A request with a secret goes where it was meant to go and nowhere else.
func TestEnsureFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed a redirect") }))
	defer other.Close()
	garm := fakegarm.New(fakegarm.V021)
	garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		return true
	}
	_, err := newBench(t, garm, nil).Ensure(within(t, 250*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "not followed") {
		t.Errorf("%v", err)
	}
}

// A hostile or broken server: bounded memory and time, and no echo of a secret.
func TestEnsureHostile(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"endless body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"token":"`)
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		},
		"byte by byte": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		},
		"never": func(_ http.ResponseWriter, r *http.Request) { hangUp(r) },
		"echo in 5xx": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fakegarm.Fail(w, 500, string(body), string(body)+password)
		},
		"echo in type": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", password)
			w.WriteHeader(500)
		},
		"echo in redirect": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://x/?"+password)
			w.WriteHeader(302)
		},
		"echo in garbage": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"token":`+password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garm := fakegarm.New(fakegarm.V021)
			garm.Before = func(w http.ResponseWriter, r *http.Request) bool { answer(w, r); return true }
			start := time.Now()
			_, err := newBench(t, garm, nil).Ensure(within(t, 400*time.Millisecond))
			var unreachable *initializer.UnreachableError
			if !errors.As(err, &unreachable) {
				t.Errorf("%v, want that the server is unreachable", err)
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("the error shows the password: %v", err)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// hangUp waits until the client has hung up, which the server notices only once the request is read.
func hangUp(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestEnsureReadsBack(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	garm.Before = on("PUT /controller", func(w http.ResponseWriter, _ *http.Request) { fakegarm.Answer(w, map[string]any{}) })
	_, err := newBench(t, garm, nil).Ensure(within(t, 300*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "did not keep the metadata URL") {
		t.Errorf("%v: a 200 is no proof", err)
	}
}

func TestEnsureDryRun(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	dry := func(o *initializer.Options) { o.DryRun = true }
	result := newBench(t, garm, dry).ensure(t)
	if !result.AdminCreated || len(result.Changed) != 4 || len(garm.Users) > 0 {
		t.Errorf("fresh: %+v, users %v", result, garm.Users)
	}
	garm.Users["admin"] = password
	result = newBench(t, garm, dry).ensure(t)
	if result.AdminCreated || len(result.Changed) != 4 || len(garm.Puts) > 0 {
		t.Errorf("initialised: %+v, PUTs %v", result, garm.Puts)
	}
}

func TestEnsurePathPrefix(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	proxy := httptest.NewServer(http.StripPrefix("/tools/garm", garm))
	defer proxy.Close()
	b := newBench(t, garm, func(o *initializer.Options) {
		o.Server.Host = strings.TrimPrefix(proxy.URL, "http://")
		o.Server.Path = "/tools/garm/"
	})
	b.ensure(t)
}

func TestEnsureEndsWithContext(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	reached := make(chan struct{})
	garm.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		close(reached)
		hangUp(r)
		return true
	}
	b := newBench(t, garm, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan time.Time)
	go func() {
		_, _ = b.Ensure(ctx)
		done <- time.Now()
	}()
	<-reached
	cancelled := time.Now()
	cancel()
	if took := (<-done).Sub(cancelled); took > 10*time.Second {
		t.Errorf("took %v to give up", took)
	}
}

func TestNewReportsAllFaults(t *testing.T) {
	_, err := initializer.New(initializer.Options{
		Credentials: initializer.Credentials{Username: "ad-min", Password: strings.Repeat("x", 73), Email: "nobody", FullName: "\xff"},
		Want:        initializer.Controller{MetadataURL: "ftp://x/", CallbackURL: "garm", CABundle: []byte("garbage")},
	})
	for _, part := range []string{"URL: there is none", `"ad-min"`, "73 bytes", `"nobody"`, "full name", "metadata URL", "callback URL", "CA bundle"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v\nlacks %q", err, part)
		}
	}
}

// A race may also be lost with a 500 (v0.1.5): whose admin it is, the login tells; that we did not make him, the
// answer.
func TestEnsureRaceLostWith500(t *testing.T) {
	garm := fakegarm.New(fakegarm.V015)
	garm.Before = on("POST /first-run", func(w http.ResponseWriter, _ *http.Request) {
		garm.Lock()
		garm.Users["admin"] = password
		garm.Unlock()
		fakegarm.Fail(w, 500, "Server error", "")
	})
	if result := newBench(t, garm, nil).ensure(t); result.AdminCreated {
		t.Error("it says that it created an admin whom somebody else made")
	}
}
