package initializer_test

import (
	"errors"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
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

func TestWatchControllerRowGone(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V021), watching)
	b.ensure(t)
	b.garm.Before = on("GET /controller", func(w http.ResponseWriter, _ *http.Request) { fakegarm.Fail(w, 404, "Not Found", "") })
	b.watch(t)
	eventually(t, "said", func() bool { return b.log.count("restart of garm") == 1 })
}
