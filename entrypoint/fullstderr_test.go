package main

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// A stderr that nobody reads keeps garm neither from starting nor from stopping.
func TestRunWithFullStderr(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd := int(w.Fd()) // once: each call makes it blocking again
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for n, full := 1, make([]byte, 1<<20); n > 0; {
		n, _ = syscall.Write(fd, full)
	}
	dir := t.TempDir()
	config := testgarm.Config(t, dir)
	// The shell gives the binary that stderr, and its own pid.
	p := testgarm.Start(t, "/bin/sh", []string{"-c", fmt.Sprintf(`exec "$0" run 2>/proc/%d/fd/%d`, os.Getpid(), fd), testgarm.Entrypoint(t)},
		[]string{"GARM_CONFIG=" + config, "GARM_BINARY=" + testgarm.Garm(t), "GARM_PASSWORD=" + testgarm.Canary})
	api := testgarm.API(t, testgarm.BaseURL(t, config))
	testgarm.Eventually(t, patience, "garm is initialised", func() bool {
		if !api.Up() {
			return false
		}
		_, status := api.Login("admin", testgarm.Canary)
		return status == 200
	})
	begin := time.Now()
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(patience); code != 0 {
		t.Errorf("ended with %d, want garm's 0", code)
	}
	if took := p.EndedAt().Sub(begin); took > 10*time.Second {
		t.Errorf("took %v to stop", took)
	}
}
