package supervisor

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Time in which we and the child were both stopped from outside does not count against the StopTimeout, whether the
// pause ends before the StopTimeout would have or after it.
func TestPauseDuringStopTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	inModes(t, func(t *testing.T, m mode) {
		for _, pause := range []time.Duration{timeout * 3 / 4, timeout * 3 / 2} {
			t.Run(pause.String(), func(t *testing.T) {
				t.Parallel()
				s := m.start(t, plan{Args: script(deaf), StopTimeout: timeout, Grace: 50 * time.Millisecond})
				s.expect("ready")
				start := time.Now()
				s.signal(syscall.SIGTERM)
				s.expect("TERM")
				tree := all(s.cmd.Process.Pid)
				for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
					for _, pid := range tree {
						if err := syscall.Kill(pid, sig); err != nil {
							t.Fatal(err)
						}
					}
					if sig == syscall.SIGSTOP {
						time.Sleep(pause)
					}
				}
				s.expectCode(128 + int(syscall.SIGKILL))
				if took, want := time.Since(start), pause+timeout; took < want-2*awakeInterval || took > want+slack {
					t.Errorf("it took %v, want %v", took, want)
				}
				if text := s.stderr.String(); !strings.Contains(text, "did not end in time") {
					t.Errorf("the log does not say so: %s", text)
				}
			})
		}
	})
}

// The same when the shell above us suspends and continues us.
func TestSuspendDuringStopTimeout(t *testing.T) {
	t.Parallel()
	const timeout, pause = 4 * time.Second, 6 * time.Second
	c := shell(t)
	c.say("run " + quoted(`{"Args":["sh","-c",`+strconv.Quote(deaf)+`],"StopTimeout":`+strconv.Itoa(int(timeout))+`,"Grace":50000000}`))
	c.expect("ready")
	start := time.Now()
	c.c(ctrlC)
	c.expect("INT")
	c.c(ctrlZ)
	c.expect("prompt-147: ")
	time.Sleep(pause)
	c.say("fg")
	c.expect("prompt-137: ")
	if took, want := time.Since(start), pause+timeout; took < want-2*awakeInterval || took > want+slack {
		t.Errorf("it took %v, want %v", took, want)
	}
}
