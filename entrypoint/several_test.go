package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
)

// several starts so many of init and watch, and only then the server that they wait for: all of them find it in its
// first moment.
func several(t *testing.T, r release, n int, env func(n int) []string) (procs []*testgarm.Proc, url, database string) {
	t.Helper()
	dir := t.TempDir()
	config := r.config(t, dir)
	url = testgarm.BaseURL(t, config)
	for n := range n {
		command := cmdInit
		if n%3 == 2 {
			command = cmdWatch
		}
		all := append([]string{"GARM_SERVER=" + url, "GARM_CONFIG=/nowhere", "GARM_BASE_URL=" + base, "GARM_LOG_LEVEL=debug"}, env(n)...)
		procs = append(procs, testgarm.Start(t, testgarm.Entrypoint(t), []string{command}, all))
	}
	for _, p := range procs {
		p.WaitFor("trying again", patience)
	}
	testgarm.StartRelease(t, r.version, config)
	t.Cleanup(func() { testgarm.NoCanary(t, procs) })
	return procs, url, filepath.Join(dir, "garm.db")
}

// outcome ends a watch that has found out, and returns its exit code, or that of an init, and whether its admin is in
// force.
func outcome(t *testing.T, p *testgarm.Proc, n int) (code int, ours bool) {
	t.Helper()
	if n%3 != 2 {
		code = p.Wait(patience)
		return code, code == 0
	}
	line := p.WaitFor("msg=initialised|is not initialised as configured", patience)
	p.Signal(syscall.SIGTERM)
	return p.Wait(patience), strings.Contains(line, "msg=initialised")
}

// Twenty with the same credentials: one admin, nobody fails.
func TestVersionsSeveralAtOnce(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		procs, url, database := several(t, r, 20, func(int) []string { return []string{"GARM_PASSWORD=" + testgarm.Canary} })
		oneAdmin(t, procs, database)
		r.proven(t, url, testgarm.Canary)
	})
}

// Without a password, and with one place to keep one: whoever makes it, all use it.
func TestVersionsSeveralGenerate(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		dir := t.TempDir()
		procs, url, database := several(t, r, 20, func(int) []string { return []string{"GARM_STATE_DIR=" + dir} })
		oneAdmin(t, procs, database)
		for n, p := range procs {
			if !strings.Contains(p.Output(), filepath.Join(dir, state.PasswordFile)) {
				t.Errorf("%d does not say where the password is", n)
			}
		}
		r.proven(t, url, kept(t, dir))
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("more than the password is left: %v", entries)
		}
	})
}

// oneAdmin wants that nobody fails, and that one of them made the one admin.
func oneAdmin(t *testing.T, procs []*testgarm.Proc, database string) {
	created := 0
	for n, p := range procs {
		_, ours := outcome(t, p, n)
		// A slow machine may make them wait for more than 5 s.
		warned := strings.Count(p.Output(), "level=WARN") > strings.Count(p.Output(), "still waiting for the server")
		if !ours || warned {
			t.Errorf("%d reports a failure: %s", n, p.Output())
		}
		if strings.Contains(p.Output(), "admin admin: created") {
			created++
		}
	}
	if users := testgarm.SQL(t, database, "SELECT count(*) FROM users"); users != "1" || created != 1 {
		t.Errorf("%s users, and %d say that they created one", users, created)
	}
}

// Six with six user names and passwords: one wins, the others say so.
func TestVersionsSeveralAdmins(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		procs, _, database := several(t, r, 6, func(n int) []string {
			return []string{fmt.Sprintf("GARM_USERNAME=admin%d", n), fmt.Sprintf("GARM_EMAIL=admin%d@localhost", n), fmt.Sprintf("GARM_PASSWORD=%d-%s", n, testgarm.Canary)}
		})
		winners := 0
		for n, p := range procs {
			code, ours := outcome(t, p, n)
			switch {
			case ours:
				winners++
			case n%3 != 2 && code != exitTakeover:
				t.Errorf("init %d ended with %d, want %d", n, code, exitTakeover)
			case !strings.Contains(p.Output(), "the server has an admin already, and these credentials are not his"):
				t.Errorf("%d does not say what happened: %s", n, p.Output())
			}
		}
		users := testgarm.SQL(t, database, "SELECT count(*) FROM users")
		t.Logf("%d winners, %s users", winners, users)
		if r.oneWins && (users != "1" || winners != 1) || users != fmt.Sprint(winners) {
			t.Errorf("%d winners, %s users", winners, users)
		}
	})
}
