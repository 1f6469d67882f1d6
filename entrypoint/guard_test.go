package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/boot"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
)

// outside is an address of this host that is not a loopback one: what a container's neighbours see. Traffic to it stays
// on this host.
func outside(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String()
		}
	}
	t.Skip("this host has no address but loopback")
	return ""
}

// attacker sends first runs to an address as fast as it can, until stopped, and returns how many were answered 200.
func attacker(t *testing.T, url string) (stop func() int64) {
	api := testgarm.API(t, url)
	var wins atomic.Int64
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if api.FirstRun(testgarm.User{Username: "mallory", Password: "mallory-kX9#mQ2$", Email: "m@localhost"}) == 200 {
					wins.Add(1)
				}
			}
		})
	}
	return func() int64 {
		close(done)
		group.Wait()
		return wins.Load()
	}
}

// Nobody on another host can win, however early and often he tries.
func TestGuardedCannotBeStolen(t *testing.T) {
	host := outside(t)
	boots := 5
	if n := os.Getenv("GARM_ENTRYPOINT_BOOTS"); n != "" {
		fmt.Sscan(n, &boots)
	}
	for _, mode := range []string{settings.FirstBootGuarded, settings.FirstBootOpen} {
		var wins int64
		for range boots {
			dir := t.TempDir()
			config := testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Bind = "0.0.0.0" })
			url := strings.Replace(testgarm.BaseURL(t, config), "127.0.0.1", host, 1)
			stop := attacker(t, url)
			r := start(t, dir, nil, "GARM_FIRST_BOOT="+mode)
			r.WaitFor("msg=ready|forensics", patience)
			won := stop()
			wins += won
			if won == 0 {
				r.proven(testgarm.Canary)
				r.stop()
			} else if code := r.Wait(patience); code != exitTakeover {
				t.Errorf("%s: taken over, and ended with %d, want %d", mode, code, exitTakeover)
			}
		}
		t.Logf("%s: %d of %d boots stolen", mode, wins, boots)
		if mode == settings.FirstBootGuarded && wins > 0 {
			t.Error("a guarded boot was stolen")
		}
	}
}

// A neighbour on loopback can win against a guarded boot too. That leads to 77, at every restart, never to a server
// that serves him.
func TestNeighbourOnLoopback(t *testing.T) {
	t.Parallel()
	for range 40 {
		dir := t.TempDir()
		r := start(t, dir, nil)
		line := r.WaitFor("starts on a loopback address", patience)
		_, address, _ := strings.Cut(line, " address=")
		stop := attacker(t, "http://"+strings.TrimSpace(address))
		r.WaitFor("msg=ready|forensics", patience)
		if stop() == 0 {
			r.stop()
			continue
		}
		for range 3 {
			if code := r.Wait(patience); code != exitTakeover || strings.Contains(r.Stderr(), "msg=\"starting garm") {
				t.Errorf("ended with %d, want %d and no garm on its real address", code, exitTakeover)
			}
			r = start(t, dir, nil)
		}
		r.Wait(patience)
		return
	}
	t.Error("the neighbour never won, so this showed nothing")
}

// The mark makes every restart after an unproven first boot a guarded one, in which an admin who is not ours is a
// takeover.
func TestMarkMakesStricter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := testgarm.Config(t, dir)
	garm := testgarm.StartGarm(t, config)
	testgarm.API(t, testgarm.BaseURL(t, config)).FirstRun(testgarm.User{Username: "mallory", Password: "mallory-kX9#mQ2$", Email: "m@localhost"})
	garm.Signal(syscall.SIGTERM)
	garm.Wait(patience)
	mark := filepath.Join(dir, state.MarkFile)
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"GARM_FIRST_BOOT=auto", "GARM_FIRST_BOOT=open", "GARM_PASSWORD_FILE="} {
		r := start(t, dir, nil, env)
		if code := r.Wait(patience); code != exitTakeover {
			t.Errorf("%s: ended with %d, want %d", env, code, exitTakeover)
		}
		if _, err := os.Stat(mark); err != nil {
			t.Errorf("%s: the mark is gone: %v", env, err)
		}
		if _, err := os.Stat(filepath.Join(dir, state.PasswordFile)); err == nil {
			t.Errorf("%s: a password is kept that never was in force", env)
		}
	}
	// Without the mark it is an old database whose admin we do not know.
	if err := os.Remove(mark); err != nil {
		t.Fatal(err)
	}
	r := start(t, dir, nil)
	r.WaitFor("not initialised as configured", patience)
	r.stop()
}

// An old database pays nothing, unless it is asked for.
func TestGuardedOldDatabase(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), nil)
	r.ready()
	r.stop()
	for mode, starts := range map[string]int{settings.FirstBootAuto: 1, settings.FirstBootOpen: 1, settings.FirstBootGuarded: 2} {
		r = start(t, r.dir, nil, "GARM_FIRST_BOOT="+mode)
		r.ready()
		if n := strings.Count(r.Stderr(), "garm's API is up"); n != starts {
			t.Errorf("%s: garm was started %d times, want %d", mode, n, starts)
		}
		r.stop()
	}
	r = start(t, r.dir, nil, "GARM_FIRST_BOOT=guarded", "GARM_PASSWORD=another-kX9#mQ2$")
	r.WaitFor("not initialised as configured", patience)
	r.stop()
}

// The time that a guarded boot of an old database has counts from the first answer: a garm that migrates for a while is
// guarded all the same.
func TestGuardedOldDatabaseSlowGarm(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	testgarm.Config(t, dir)
	put(t, filepath.Join(dir, "garm.db"), "not empty, so not new")
	r := start(t, dir, nil, "GARM_FIRST_BOOT=guarded", "GARM_BINARY="+self, "FAKE_GARM=late "+itoa(int(boot.GuardOld/time.Second)+1))
	r.WaitFor("first boot done", patience)
	if !strings.Contains(r.Stderr(), "admin created") {
		t.Error("it was not initialised before it was stopped")
	}
	r.WaitFor("msg=ready", patience)
	r.Signal(syscall.SIGTERM)
	r.Wait(patience)
}

// A stop at any moment of the first boot is acted on, and the next start ends initialised with the same password.
func TestStopDuringFirstBoot(t *testing.T) {
	t.Parallel()
	for n, line := range []string{"starts on a loopback", "trying again", "sending the first run", "the first run was answered", "logged in",
		"updating the controller", "admin created", "first boot done", "garm has stopped", "starting garm", "msg=ready"} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(fmt.Sprint(n, " ", signal), func(t *testing.T) {
				dir := t.TempDir()
				r := start(t, dir, nil, "GARM_PASSWORD_FILE=", "GARM_LOG_LEVEL=debug", "GARM_BASE_URL=http://garm.example.com")
				r.WaitFor(line, patience)
				begin := time.Now()
				lag := r.lag()
				r.Signal(signal)
				code := r.Wait(patience)
				if lag := lag(); signal == syscall.SIGTERM && lag > slowEnd {
					t.Errorf("ended %v after garm", lag)
				}
				if took := r.EndedAt().Sub(begin); signal == syscall.SIGTERM && took > quickStop {
					t.Errorf("took %v to stop", took)
				}
				if real := strings.Contains(r.Stderr(), "msg=\"starting garm"); signal == syscall.SIGTERM && !real && code != 143 {
					t.Errorf("ended with %d before the real garm, want 143", code)
				}
				goodStart(t, dir, kept(t, dir))
			})
		}
	}
}
