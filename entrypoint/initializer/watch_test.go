package initializer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

func watching(o *initializer.Options) { o.Interval = 5 * time.Millisecond }

func TestWatchAsksOncePerInterval(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), watching)
	b.ensure(t)
	logins, before := b.garm.Count("POST /auth/login"), b.garm.Count("GET /controller")
	b.watch(t)
	eventually(t, "ten looks", func() bool { return b.garm.Count("GET /controller") >= before+10 })
	if n := b.garm.Count("POST /auth/login"); n != logins {
		t.Errorf("%d logins while watching: the token is to be kept", n-logins)
	}
	b.garm.Lock()
	defer b.garm.Unlock()
	if len(b.garm.Puts) != 1 {
		t.Errorf("%d PUTs", len(b.garm.Puts))
	}
}

func TestWatchMends(t *testing.T) {
	for name, c := range map[string]struct {
		harm   func(*fakegarm.Server)
		mended func(*fakegarm.Server) bool
		line   string
	}{
		"users emptied": {
			func(s *fakegarm.Server) { clear(s.Users) },
			func(s *fakegarm.Server) bool { return s.Users["admin"] == password },
			"created again",
		},
		"server replaced": {
			func(s *fakegarm.Server) {
				clear(s.Users)
				clear(s.Tokens)
				maps.DeleteFunc(s.Controller, func(k string, _ any) bool { return k == "metadata_url" || k == "callback_url" })
			},
			func(s *fakegarm.Server) bool {
				return s.Users["admin"] == password && s.Controller["metadata_url"] == urls.MetadataURL
			},
			"created again",
		},
		"token refused": {
			func(s *fakegarm.Server) { clear(s.Tokens) },
			func(s *fakegarm.Server) bool { return len(s.Tokens) == 1 },
			"",
		},
		"operator's placeholders": {
			func(s *fakegarm.Server) {
				s.Controller["metadata_url"] = "https://initial.metadata.garm.local"
				s.Controller["callback_url"] = "https://initial.callback.garm.local"
			},
			func(s *fakegarm.Server) bool { return s.Controller["metadata_url"] == urls.MetadataURL },
			"are set again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakegarm.New(fakegarm.V021), watching)
			b.ensure(t)
			b.watch(t)
			b.garm.Lock()
			c.harm(b.garm)
			b.garm.Unlock()
			eventually(t, "mended", func() bool {
				b.garm.Lock()
				defer b.garm.Unlock()
				return c.mended(b.garm)
			})
			if c.line != "" {
				eventually(t, c.line, func() bool { return b.log.count(c.line) == 1 })
			}
		})
	}
}

func TestWatchLeavesAloneWhatPeopleSet(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), watching)
	b.ensure(t)
	b.watch(t)
	const theirs = "https://by.hand/m"
	b.garm.Lock()
	b.garm.Controller["metadata_url"] = theirs
	b.garm.Unlock()
	eventually(t, "drift named", func() bool { return b.log.count("changed by hand") == 1 })
	seen := b.garm.Count("GET /controller")
	eventually(t, "more looks", func() bool { return b.garm.Count("GET /controller") > seen+5 })
	b.garm.Lock()
	defer b.garm.Unlock()
	if b.garm.Controller["metadata_url"] != theirs || b.log.count("changed by hand") != 1 || b.log.count(theirs) < 1 || b.log.count(urls.MetadataURL) < 1 {
		t.Errorf("controller %v, log:\n%s", b.garm.Controller, b.log)
	}
}

func TestWatchPasswordChanged(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), watching)
	b.ensure(t)
	b.watch(t)
	b.garm.Lock()
	b.garm.Users["admin"] = "changed"
	clear(b.garm.Tokens)
	b.garm.Unlock()
	eventually(t, "said", func() bool { return b.log.count("credentials are not his") == 1 })
	logins, looks := b.garm.Count("POST /auth/login"), b.garm.Count("GET /controller-info")
	eventually(t, "goes on watching as a stranger", func() bool { return b.garm.Count("GET /controller-info") > looks+5 })
	if b.garm.Count("POST /auth/login") != logins || b.log.count("credentials are not his") != 1 {
		t.Errorf("hammers the login, or repeats itself:\n%s", b.log)
	}
	// The admin is lost after all: that is ours to mend.
	b.garm.Lock()
	clear(b.garm.Users)
	b.garm.Unlock()
	eventually(t, "created again", func() bool { return b.log.count("created again") == 1 })
	eventually(t, "well again", func() bool { return b.log.count("well again") == 1 })
}

// A password that was in force once is not forgotten because another is later.
func TestWatchKeepsAPasswordThatWasInForce(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), func(o *initializer.Options) {
		watching(o)
		o.Credentials.Password = ""
		o.NewPassword = func() (string, error) { return password, nil }
		o.ForgetPassword = func() error { t.Error("forgotten"); return nil }
	})
	b.ensure(t)
	b.watch(t)
	b.garm.Lock()
	b.garm.Users["admin"] = "changed"
	clear(b.garm.Tokens)
	b.garm.Unlock()
	eventually(t, "said", func() bool { return b.log.count("credentials are not his") == 1 })
	b.garm.Lock()
	clear(b.garm.Users)
	b.garm.Unlock()
	eventually(t, "created again", func() bool { b.garm.Lock(); defer b.garm.Unlock(); return b.garm.Users["admin"] == password })
}

func TestWatchTroubleIsSaidOnce(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), watching)
	b.ensure(t)
	var broken atomic.Bool
	b.garm.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		if broken.Load() {
			fakegarm.Fail(w, 500, "Server error", "database is locked")
		}
		return broken.Load()
	}
	b.watch(t)
	broken.Store(true)
	eventually(t, "said", func() bool { return b.log.count("database is locked") == 1 })
	seen := b.garm.Count("GET /controller")
	eventually(t, "more looks", func() bool { return b.garm.Count("GET /controller") > seen+5 })
	broken.Store(false)
	eventually(t, "well again", func() bool { return b.log.count("well again") == 1 })
	if b.log.count("database is locked") != 1 {
		t.Errorf("repeats itself:\n%s", b.log)
	}
}

func TestWatchSilence(t *testing.T) {
	garm := fakegarm.New(fakegarm.V021)
	b := newBench(t, garm, func(o *initializer.Options) {
		watching(o)
		o.SilenceLimit = 50 * time.Millisecond
	})
	b.ensure(t)
	garm.Before = func(w http.ResponseWriter, _ *http.Request) bool {
		c, _, _ := w.(http.Hijacker).Hijack()
		_ = c.Close()
		return true
	}
	err := b.Watch(within(t, 20*time.Second))
	var unreachable *initializer.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Answered {
		t.Errorf("%v, want silence", err)
	}
}

// A pause of our own, such as that of docker pause, is no silence of the server, whether it falls between two looks or
// into one, and also in an outage.
func TestWatchPauseIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault, freeze atomic.Bool
		frozen := 0
		b := newLocalBench(t, fakegarm.New(fakegarm.V021), func(o *initializer.Options) {
			o.Interval, o.SilenceLimit = 30*time.Second, 10*time.Minute
			carry := o.Transport
			o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if freeze.Swap(false) {
					frozen++
					time.Sleep(time.Hour) // and no look at r's context
					return nil, context.DeadlineExceeded
				}
				if fault.Load() {
					return nil, errors.New("connection refused")
				}
				return carry.RoundTrip(r)
			})
		})
		b.ensure(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Watch(ctx) }()
		for range 3 {
			time.Sleep(5 * time.Minute)
			freeze.Store(true)
			time.Sleep(2 * time.Hour)
		}
		cancel()
		if err := <-done; err != nil || frozen != 3 {
			t.Errorf("%d pauses: %v", frozen, err)
		}
		fault.Store(true)
		begin := time.Now()
		err := b.Watch(within(t, time.Hour))
		if took := time.Since(begin); err == nil || took < 10*time.Minute || took > 12*time.Minute {
			t.Errorf("silence was said after %v: %v", took, err)
		}
	})
}

// v0.1.5 to v0.1.8 take the row that is gone for the admin.
func TestWatchControllerRowGone(t *testing.T) {
	for _, version := range versions {
		b := newBench(t, fakegarm.New(version), watching)
		b.ensure(t)
		b.garm.Before = on("GET /controller", func(w http.ResponseWriter, _ *http.Request) { fakegarm.Fail(w, 404, "Not Found", "") })
		if version != fakegarm.V021 {
			b.garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasSuffix(r.URL.Path, "/first-run") {
					fakegarm.Fail(w, 409, "init_required", "Missing superuser")
				}
				return !strings.HasSuffix(r.URL.Path, "/first-run")
			}
		}
		b.watch(t)
		eventually(t, "said", func() bool { return b.log.count("restart of garm") > 0 })
		requests := func() int {
			b.garm.Lock()
			defer b.garm.Unlock()
			return len(b.garm.Requests)
		}
		seen := requests()
		eventually(t, "more looks", func() bool { return requests() > seen+20 })
		if b.log.count("restart of garm") != 1 || b.log.count("level=WARN") != 1 {
			t.Errorf("%s:\n%s", version, b.log)
		}
	}
}

// unreadable answers as garm v0.2.1 does while it cannot read its database.
func unreadable(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/first-run") {
		fakegarm.Fail(w, 409, "Conflict", "username already exists")
		return
	}
	fakegarm.Fail(w, 409, "init_required", "Missing superuser")
}

// A database that can be read again between two looks, whichever these are: its admin is ours still, and not somebody
// else's.
func TestWatchDatabaseUnreadableForAWhile(t *testing.T) {
	for looks := range 4 {
		synctest.Test(t, func(t *testing.T) {
			garm := fakegarm.New(fakegarm.V021)
			var broken atomic.Bool
			garm.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if broken.Load() {
					unreadable(w, r)
					return true
				}
				return false
			}
			b := newLocalBench(t, garm, func(o *initializer.Options) { o.Interval = 30 * time.Second })
			b.ensure(t)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- b.Watch(ctx) }()
			time.Sleep(45 * time.Second)
			broken.Store(true)
			time.Sleep(time.Duration(looks) * 30 * time.Second)
			broken.Store(false)
			time.Sleep(2 * time.Minute)
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
			if b.log.count("level=WARN") > 1 || b.log.count("level=WARN") != b.log.count("well again") || looks > 1 && b.log.count("Missing superuser") == 0 {
				t.Errorf("%d looks at an unreadable database:\n%s", looks, b.log)
			}
		})
	}
}

// One outage is one line, whatever each look finds: a reset names another port each time, and a restart is first a
// connection that breaks and then a refusal.
func TestWatchOutageIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		garm := fakegarm.New(fakegarm.V021)
		var fault atomic.Bool
		looks := 0 // read when watching has ended
		b := newLocalBench(t, garm, func(o *initializer.Options) {
			o.Interval = 30 * time.Second
			carry := o.Transport
			o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if fault.Load() {
					looks++
					return nil, fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:9997: connection reset by peer", 40000+looks)
				}
				return carry.RoundTrip(r)
			})
		})
		b.ensure(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.Watch(ctx) }()
		for range 2 {
			time.Sleep(time.Minute)
			fault.Store(true)
			time.Sleep(24 * time.Hour)
			fault.Store(false)
			time.Sleep(time.Minute)
		}
		cancel()
		<-done
		if b.log.count("level=WARN") != 2 || b.log.count("well again") != 2 {
			t.Errorf("not one line for each outage:\n%s", b.log)
		}
		// Bounded pauses, and not in step with other watchers.
		if each := (48 * time.Hour).Seconds() / float64(looks); each < 27 || each > 33 {
			t.Errorf("a look each %.1f s, want each 30 s", each)
		}
	})
}

// The same for the first proof, which says so after 5 s.
func TestEnsureOutageIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		var pauses []time.Duration
		last := time.Now()
		b := newLocalBench(t, fakegarm.New(fakegarm.V021), func(o *initializer.Options) {
			o.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				tries++
				pauses = append(pauses, time.Since(last))
				last = time.Now()
				return nil, fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:9997: connection reset by peer", 40000+tries)
			})
		})
		_, err := b.Ensure(within(t, 24*time.Hour))
		var unreachable *initializer.UnreachableError
		if !errors.As(err, &unreachable) || b.log.count("level=WARN") != 1 {
			t.Errorf("%v, and not one line:\n%s", err, b.log)
		}
		seen := map[time.Duration]bool{}
		for _, p := range pauses[len(pauses)/2:] {
			seen[p] = true
			if p < 900*time.Millisecond || p > 1100*time.Millisecond {
				t.Fatalf("a pause of %v in a long outage", p)
			}
		}
		if len(seen) < 100 {
			t.Error("the pauses are not spread")
		}
	})
}
