package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// watched is the binary that watches a real garm, and that garm's database.
type watched struct {
	*testgarm.Proc
	t        *testing.T
	release  release
	url, dir string
	database string
}

// watchRun starts the main job, watching closely, with the URLs of base.
func watchRun(t *testing.T, r release, env ...string) *watched {
	t.Helper()
	dir := t.TempDir()
	config := r.config(t, dir)
	p := start(t, dir, nil, append([]string{"GARM_BASE_URL=" + base, "GARM_WATCH_INTERVAL=50ms", "GARM_BINARY=" + testgarm.Release(t, r.version)}, env...)...)
	p.ready()
	return &watched{Proc: p.Proc, t: t, release: r, url: testgarm.BaseURL(t, config), dir: dir, database: filepath.Join(dir, "garm.db")}
}

func (w *watched) sql(statements ...string) string {
	return testgarm.SQL(w.t, w.database, statements...)
}

// said wants a line so many times; more may follow, so ask when all is over.
func (w *watched) said(line string, times int) {
	w.t.Helper()
	if n := strings.Count(w.Stderr(), line); n != times {
		w.t.Errorf("%d times, want %d: %s", n, times, line)
	}
}

// looks waits for that many more requests of ours in garm's log.
func (w *watched) looks(n int) {
	w.t.Helper()
	// The last is all that a server in trouble may see.
	seen := func() int {
		return strings.Count(w.Stdout(), "uri=/api/v1/controller") + strings.Count(w.Stdout(), "uri=/api/v1/first-run")
	}
	before := seen()
	testgarm.Eventually(w.t, patience, "more looks", func() bool { return seen() >= before+n })
}

func TestVersionsUsersEmptied(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		w := watchRun(t, r)
		id := r.proven(t, w.url, testgarm.Canary)
		w.sql("DELETE FROM users")
		w.WaitFor("had lost its admin, who is created again", patience)
		if now := r.proven(t, w.url, testgarm.Canary); now != id {
			t.Errorf("the controller was %s, is %s", id, now)
		}
		w.looks(3)
		w.said("level=WARN", 1+w.warnings())
	})
}

// warnings are those of a start.
func (w *watched) warnings() int {
	if w.release.agent {
		return 0
	}
	return 1 // of the agent URL
}

func TestVersionsDatabaseUnreadable(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		w := watchRun(t, r)
		for n := range 2 {
			w.sql("ALTER TABLE users RENAME TO hidden")
			testgarm.Eventually(t, patience, "trouble", func() bool { return strings.Count(w.Stderr(), "not as it should be") == n+1 })
			time.Sleep(300 * time.Millisecond) // some looks of a server in trouble
			w.sql("ALTER TABLE hidden RENAME TO users")
			testgarm.Eventually(t, patience, "well again", func() bool { return strings.Count(w.Stderr(), "well again") == n+1 })
		}
		r.proven(t, w.url, testgarm.Canary)
		w.looks(3)
		w.said("level=WARN", 2+w.warnings())
		if users := w.sql("SELECT count(*) FROM users"); users != "1" {
			t.Errorf("%s users", users)
		}
	})
}

func TestVersionsControllerRowDeleted(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		w := watchRun(t, r)
		w.sql("DELETE FROM controller_infos")
		w.WaitFor("not as it should be", patience)
		w.looks(5)
		w.said("level=WARN", 1+w.warnings())
		w.said("a restart of garm makes a new one", 1)
		w.Signal(syscall.SIGTERM)
		w.Wait(patience)
		again := start(t, w.dir, nil, "GARM_BASE_URL="+base, "GARM_BINARY="+testgarm.Release(t, r.version))
		again.ready()
		r.proven(t, w.url, testgarm.Canary)
	})
}

// changedHash is the bcrypt hash of "changed-kX9#mQ2$".
const changedHash = "$2a$10$hOYT9Ay/Dz59Jx3ToJDEAOK6yrsQ7OaClf18l9RU75N5QV0NMBJFW"

func TestVersionsPasswordChanged(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		w := watchRun(t, r)
		w.sql("UPDATE users SET password = '" + changedHash + "'")
		if r.api {
			w.sql("UPDATE users SET generation = generation + 1")
		} else {
			// No generation: the old token is good until it expires.
			w.looks(3)
			w.said("level=WARN", w.warnings())
			return
		}
		w.WaitFor("these credentials are not his", patience)
		logins := func() int { return strings.Count(w.Stdout(), "/auth/login") }
		before := logins()
		w.looks(5)
		if n := logins() - before; n > 0 {
			t.Errorf("%d more logins: each costs garm a password hash", n)
		}
		w.said("level=WARN", 1+w.warnings())
		if _, status := testgarm.API(t, w.url).Login("admin", "changed-kX9#mQ2$"); status != 200 {
			t.Errorf("the changed password logs in with %d", status)
		}
	})
}

func TestVersionsURLsChangedByHand(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if !r.api {
			t.Skip("its URLs are in its config")
		}
		w := watchRun(t, r)
		api, token := testgarm.API(t, w.url), mustLogin(t, w.url)
		const theirs = "https://by.hand/m"
		if status := api.Update(token, map[string]string{"metadata_url": theirs}); status != 200 {
			t.Fatal(status)
		}
		line := w.WaitFor("changed by hand", patience)
		if !strings.Contains(line, theirs) || !strings.Contains(line, theURLs.MetadataURL) {
			t.Errorf("not both values: %s", line)
		}
		w.looks(5)
		w.said("changed by hand", 1)
		// The operator's are nobody's.
		api.Update(token, map[string]string{"callback_url": "https://initial.callback.garm.local"})
		w.WaitFor("missing and are set again", patience)
		if c, _ := api.Controller(token); c.MetadataURL != theirs || c.CallbackURL != theURLs.CallbackURL {
			t.Errorf("controller %+v", c)
		}
		w.Signal(syscall.SIGTERM)
		w.Wait(patience)
		again := start(t, w.dir, nil, "GARM_BASE_URL="+base, "GARM_BINARY="+testgarm.Release(t, r.version))
		again.ready()
		r.proven(t, w.url, testgarm.Canary)
	})
}

// A sidecar outlives its server, and makes a fresh one what the old one was.
func TestVersionsServerReplaced(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		dir := t.TempDir()
		config := r.config(t, dir)
		url := testgarm.BaseURL(t, config)
		garm := testgarm.StartRelease(t, r.version, config)
		w := testgarm.Start(t, testgarm.Entrypoint(t), []string{cmdWatch}, []string{"GARM_SERVER=" + url, "GARM_CONFIG=/nowhere",
			"GARM_PASSWORD=" + testgarm.Canary, "GARM_BASE_URL=" + base, "GARM_WATCH_INTERVAL=50ms"})
		w.WaitFor("msg=initialised", patience)
		for n, fresh := range []bool{false, true} {
			garm.Signal(syscall.SIGTERM)
			garm.Wait(patience)
			testgarm.Eventually(t, patience, "the outage is said", func() bool { return strings.Count(w.Stderr(), "not as it should be") == n+1 })
			if fresh {
				files, _ := filepath.Glob(filepath.Join(dir, "*garm.db*"))
				for _, f := range files {
					_ = os.Remove(f)
				}
			}
			time.Sleep(300 * time.Millisecond) // some looks at nothing
			garm = testgarm.StartRelease(t, r.version, config)
			testgarm.Eventually(t, patience, "well again", func() bool { return strings.Count(w.Stderr(), "well again") == n+1 })
		}
		r.proven(t, url, testgarm.Canary)
		if strings.Count(w.Stderr(), "created again") != 1 || strings.Count(w.Stderr(), "level=WARN") != 3 {
			t.Error("not one line for each outage and one for the admin")
		}
	})
}

// garm lives and its API is dead.
func TestRunFrozenGarm(t *testing.T) {
	t.Parallel()
	w := watchRun(t, releases[len(releases)-1], "GARM_API_TIMEOUT=500ms", "GARM_STOP_TIMEOUT=1s")
	if err := syscall.Kill(childOf(t, w.Pid()), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if code := w.Wait(patience); code != exitUnavailable {
		t.Errorf("ended with %d, want %d", code, exitUnavailable)
	}
	w.said("so that it is started again", 1)
}
