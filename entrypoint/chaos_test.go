package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver that garm uses
	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
	"garm-entrypoint/supervisor"
)

// Killed anywhere, a first boot ends initialised at the next start: the same password logs in, the URLs are right,
// there is exactly one admin, no mark lies, no temporary file is left. `make test-chaos` does it 300 times.
func TestChaos(t *testing.T) {
	rounds := 8
	if n := os.Getenv("GARM_ENTRYPOINT_CHAOS"); n != "" {
		if _, err := fmt.Sscan(n, &rounds); err != nil {
			t.Fatal(err)
		}
	}
	for kills := 0; kills < rounds; {
		dir := t.TempDir()
		testgarm.Config(t, dir)
		password := ""
		// Up to three kills in a row, the later ones of a restart.
		for range 1 + rand.IntN(3) {
			kills++
			killed(t, dir)
			now := kept(t, dir)
			if password != "" && now != password {
				t.Fatalf("the kept password has changed")
			}
			password = now
		}
		goodStart(t, dir, password)
	}
}

func kept(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, state.PasswordFile))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

// killed starts a boot and ends it at a random moment of its first second.
func killed(t *testing.T, dir string) {
	t.Helper()
	r := start(t, dir, nil, "GARM_PASSWORD_FILE=", "GARM_BASE_URL=http://garm.example.com")
	moment := time.Duration(rand.Int64N(int64(900 * time.Millisecond)))
	signal := syscall.SIGKILL
	if rand.IntN(3) == 0 {
		signal = syscall.SIGTERM
	}
	select {
	case <-time.After(moment):
	case <-r.Ended():
	}
	begin := time.Now()
	lag := r.lag()
	r.Signal(signal)
	code := r.Wait(patience)
	if lag := lag(); signal == syscall.SIGTERM && lag > slowEnd {
		t.Errorf("SIGTERM after %v: ended %v after garm", moment, lag)
	}
	// 1 is garm's own when it is stopped while it starts.
	if signal == syscall.SIGTERM && (r.EndedAt().Sub(begin) > quickStop || code != 0 && code != 1 && code != 143) {
		t.Errorf("SIGTERM after %v: ended with %d after %v", moment, code, r.EndedAt().Sub(begin))
	}
}

// slowEnd is more than our own end may take after garm's. It takes a millisecond or two (make bench), but a loaded
// machine may let us wait for a processor; stuck, it would take the grace.
const slowEnd = supervisor.DefaultGrace * 9 / 10

// lag begins to watch our child, and returns how long after its end we ended. It is 0 when there is no child, or
// another one came.
func (r *run) lag() func() time.Duration {
	fd := -1
	for _, child := range children(r.Pid()) {
		fd, _ = unix.PidfdOpen(child, 0)
	}
	ended := make(chan time.Time, 1)
	go func() {
		defer close(ended)
		if fd < 0 {
			return
		}
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(patience/time.Millisecond))
			if err == unix.EINTR {
				continue
			}
			if n > 0 {
				ended <- time.Now()
			}
			return
		}
	}()
	return func() time.Duration {
		at, ok := <-ended
		if !ok {
			return 0
		}
		return r.EndedAt().Sub(at)
	}
}

func goodStart(t *testing.T, dir, password string) {
	t.Helper()
	r := start(t, dir, nil, "GARM_PASSWORD_FILE=", "GARM_BASE_URL=http://garm.example.com")
	r.ready()
	now := kept(t, dir)
	if password != "" && now != password {
		t.Errorf("the kept password has changed")
	}
	if c := r.proven(now); c.MetadataURL != "http://garm.example.com/api/v1/metadata" || c.AgentURL != "http://garm.example.com/agent" {
		t.Errorf("controller %+v", c)
	}
	r.stop()
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, state.MarkFile)); err == nil {
		t.Error("the mark lies")
	}
	if n := admins(t, filepath.Join(dir, "garm.db")); n != 1 {
		t.Errorf("%d admins", n)
	}
}

// admins counts the users of a database that no garm has open.
func admins(t *testing.T, path string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM users").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
