package provision_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Killed anywhere, and the server too, the next apply ends in what is declared: nothing twice, nothing lost, nothing left
// of what is no longer declared. GARM_ENTRYPOINT_CHAOS says how many kills; make test-chaos has 300.
func TestChaos(t *testing.T) {
	t.Parallel()
	kills := 25
	if n := os.Getenv("GARM_ENTRYPOINT_CHAOS"); n != "" {
		if _, err := fmt.Sscan(n, &kills); err != nil {
			t.Fatal(err)
		}
	}
	s, f := startServer(t, pinned(t)), newForge(t)
	h := helper{Server: s.url, Memory: memoryIn(s.dir), Prune: true}
	n, runs, servers := 0, 0, 0 // n: those that were killed before their end
	for n < kills {
		repositories := 0
		// Up to three kills in a row, and each time something else is declared.
		for range 1 + rand.IntN(3) {
			runs++
			repositories = rand.IntN(7)
			h.Path = several(t, s.dir, f.URL, repositories)
			cmd := h.start(t)
			if killedAfter(cmd, time.Duration(rand.Int64N(int64(300*time.Millisecond)))) {
				n++
			}
			if rand.IntN(5) == 0 {
				servers++
				s.restart()
			}
		}
		if err := h.run(t.Context()); err != nil {
			t.Fatalf("after %d kills: %v", n, err)
		}
		if s.exactly(repositories); t.Failed() {
			t.Fatalf("after %d kills", n)
		}
	}
	t.Logf("%d of %d were killed, and the server %d times", n, runs, servers)
}

// killedAfter kills the process then, and reports whether it still ran.
func killedAfter(cmd *exec.Cmd, d time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended, the server shows
		close(ended)
	}()
	select {
	case <-ended:
		return false
	case <-time.After(d):
	}
	_ = cmd.Process.Kill()
	<-ended
	return true
}
