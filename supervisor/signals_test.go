package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Every signal that a Go program can catch reaches the child, once.
func TestForwardsEverySignal(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, terminal := range []bool{false, true} {
			s := m.start(t, plan{Role: "printer", Terminal: terminal})
			s.expect("ready")
			for _, sig := range seenByGo() {
				if sig == syscall.SIGTERM || !terminal && isJobControlStop(sig) {
					continue
				}
				s.signal(sig)
				s.expect(strconv.Itoa(int(sig)))
			}
			s.signal(syscall.SIGTERM)
			s.expect("15")
			s.expectCode(0)
		}
	})
}

// The signals that Go keeps from its programs reach the child too: those do what they do by default, and end it.
func TestForwardsWhatGoKeeps(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, sig := range []syscall.Signal{syscall.SIGPROF, 32, 34} {
			s := m.start(t, plan{Args: script("echo ready; exec sleep 60")})
			s.expect("ready")
			s.signal(sig)
			s.expectCode(128 + int(sig))
		}
	})
}

func init() {
	// counter counts the signals 35 and 40 until 64 comes, with which it must have been started blocked. The kernel
	// hands out the lower numbers first.
	roles["counter"] = func() {
		fmt.Println("ready")
		counts, set := make(map[int32]int), sigset(35, 40, 64)
		for {
			var info unix.Siginfo
			_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&info)), 0, 8, 0, 0)
			switch {
			case errno == syscall.EINTR:
			case errno != 0:
				must(errno)
			case info.Signo == 64:
				fmt.Println(counts[35], counts[40])
				os.Exit(0)
			default:
				counts[info.Signo]++
			}
		}
	}
}

// Of a burst, each real-time signal reaches the child.
func TestBurst(t *testing.T) {
	t.Parallel()
	const n = 200
	inModes(t, func(t *testing.T, m mode) {
		var s *supervised
		withBlocked(blockable(), func() { s = m.start(t, plan{Role: "counter"}) })
		s.expect("ready")
		for range n {
			s.signal(35)
			s.signal(40)
		}
		s.signal(64)
		s.expect(fmt.Sprint(n, n))
		s.expectCode(0)
	})
}

// Signals that arrive before the child exists, or between two children, are delivered to it, once each.
func TestKeepsSignalsForTheNextChild(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for name, before := range map[string][]string{"first child": nil, "second child": {"true"}} {
			var s *supervised
			withBlocked(blockable(), func() {
				s = m.start(t, plan{Role: "printer", Before: before, Pause: true})
			})
			s.expect("paused")
			want := make(map[string]bool)
			for _, sig := range blockable() {
				s.signal(sig)
				want[strconv.Itoa(int(sig))] = true
			}
			s.say("go on")
			for range len(want) + 1 {
				delete(want, s.next())
			}
			if len(want) > 0 {
				t.Errorf("%s: lost %v", name, want)
			}
			s.silence(20 * time.Millisecond)
			s.signal(syscall.SIGTERM)
			s.expect("15")
			s.expectCode(0)
		}
	})
}

// A stop signal before the child exists, or between two, means that it is not started.
func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
			for _, before := range [][]string{nil, {"true"}} {
				s := m.start(t, plan{Args: script("echo started"), Before: before, Pause: true})
				s.expect("paused")
				s.signal(sig)
				eventually(t, "the kernel has delivered the signal", func() bool { return pendingSignals(t, s.cmd.Process.Pid) == 0 })
				s.say("go on")
				s.expectCode(128 + int(sig))
				if _, open := <-s.lines; open {
					t.Error("the child was started all the same")
				}
			}
		}
	})
}

// A signal at any moment of a start (before, between fork and exec, after) reaches that child and no other.
func TestSignalDuringStart(t *testing.T) {
	t.Parallel()
	runs := 300
	if testing.Short() {
		runs = 50
	}
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Args: []string{"sleep", "60"}, Repeat: runs, Pause: true})
		s.expect("paused")
		s.say("go on")
		for i := range runs {
			s.expect("starting " + strconv.Itoa(i))
			for end := time.Now().Add(rand.N(3 * time.Millisecond)); time.Now().Before(end); {
			}
			s.signal(syscall.SIGUSR1)
			s.expect(strconv.Itoa(128 + int(syscall.SIGUSR1)))
		}
		s.signal(syscall.SIGTERM)
		s.expectCode(128 + int(syscall.SIGTERM))
	})
}

func init() {
	// busy makes the runtime preempt its goroutines, which it does with SIGURG.
	extras["busy"] = func() {
		for range 4 {
			go func() {
				for n := 0; ; n++ {
					if n%(1<<16) == 0 {
						runtime.GC()
						_ = make([]byte, 1<<20)
					}
				}
			}()
		}
	}
}

// A supervisor that is busy itself sends no SIGURG (golang.org/issue/37942).
func TestBusySupervisorSendsNoSIGURG(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{
			Args:  script(`trap "echo URG" URG; trap "echo USR1" USR1; echo ready; while :; do sleep 60 & wait $!; done`),
			Extra: "busy",
		})
		s.expect("ready")
		for range 10 {
			s.silence(50 * time.Millisecond)
			s.signal(syscall.SIGUSR1)
			s.expect("USR1")
		}
		s.signal(syscall.SIGURG) // not even from outside, as it could not be told from the runtime's own
		s.silence(50 * time.Millisecond)
		s.signal(syscall.SIGTERM)
		s.expectCode(128 + int(syscall.SIGTERM))
	})
}

func init() {
	// writer logs without end.
	extras["writer"] = func() {
		for {
			fmt.Fprintln(LogWriter(2), "a line of our own")
		}
	}
}

func init() {
	// pipewriter writes to a pipe that nobody reads, which makes the kernel send SIGPIPE to the writer.
	extras["pipewriter"] = func() {
		var fds [2]int
		must(syscall.Pipe2(fds[:], syscall.O_CLOEXEC))
		must(syscall.Close(fds[0]))
		for {
			if _, err := syscall.Write(fds[1], []byte("x")); err != syscall.EPIPE {
				must(errors.New("the pipe is not broken"))
			}
		}
	}
}

// expectForeignSIGPIPEOnly wants a printer that gets the SIGPIPE of the test and no other.
func (s *supervised) expectForeignSIGPIPEOnly() {
	s.t.Helper()
	s.expect("ready")
	s.silence(100 * time.Millisecond)
	for range 20 {
		s.signal(syscall.SIGPIPE)
		s.expect("13")
	}
	s.signal(syscall.SIGTERM)
	s.expect("15")
	s.expectCode(0)
}

// What the supervisor's own program brings on itself by writing is not forwarded; SIGPIPE from others is.
func TestOwnSIGPIPEIsNotForwarded(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Role: "printer", Extra: "pipewriter"})
		s.expectForeignSIGPIPEOnly()
	})
}

// A log that nobody reads any more neither ends the supervisor nor sends the child a SIGPIPE; SIGPIPE from others is
// forwarded.
func TestBrokenStderr(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{Role: "printer", Extra: "writer"})
		cmd.Stderr = brokenPipe(t)
		s := launch(t, cmd)
		s.expectForeignSIGPIPEOnly()
	})
}

// A log that is full and stays full does not keep the loop from forwarding, reaping and ending.
func TestFullStderr(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{
			Args:        script(`trap "" TERM; trap "echo USR1" USR1; echo ready; while :; do sleep 60 & wait $!; done`),
			StopTimeout: 50 * time.Millisecond, // its end is logged
			Before:      []string{"true"},
		})
		cmd.Stderr = fullPipe(t)
		s := launch(t, cmd)
		s.expect("ready")
		s.signal(syscall.SIGUSR1)
		s.expect("USR1")
		s.signal(syscall.SIGTERM)
		s.expectCode(128 + int(syscall.SIGKILL))
	})
}

// stuck is a log that nobody reads.
type stuck struct{ slog.Handler }

func (stuck) Handle(context.Context, slog.Record) error { select {} }

// However many lines there are for a log that is stuck, whoever logs goes on, and so does the end.
func TestStuckLog(t *testing.T) {
	t.Parallel()
	q := newLogQueue(slog.New(stuck{slog.NewTextHandler(io.Discard, nil)}))
	done := make(chan struct{})
	go func() {
		for range 1000 {
			q.warn("a line")
		}
		q.close()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("it is stuck as well")
	}
}

// Faults of the supervisor's own program are panics; nobody sends the child a SIGSEGV or a SIGFPE for them.
func TestOwnFaultsAreNotForwarded(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Role: "printer", Extra: "faults"})
		s.expect("ready")
		s.silence(50 * time.Millisecond)
		s.signal(syscall.SIGSEGV)
		s.expect("11")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)
	})
}

func init() {
	extras["faults"] = func() {
		for {
			func() {
				defer func() { _ = recover() }()
				var p *int
				*p = 1
			}()
			func() {
				defer func() { _ = recover() }()
				_ = 1 / len(os.Args[len(os.Args):])
			}()
		}
	}
}

// Held signals wait for Release or HoldFor, and are delivered once; stop signals never wait.
func TestHold(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		hold := []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1}
		s := m.start(t, plan{Role: "printer", Hold: hold, Release: true})
		s.expect("ready")
		for range 3 {
			s.signal(syscall.SIGHUP)
			s.signal(syscall.SIGUSR1)
		}
		s.signal(syscall.SIGUSR2)
		s.expect("12")
		s.silence(50 * time.Millisecond)
		s.say("release")
		got := []string{s.next(), s.next()}
		if text := strings.Join(got, " "); text != "1 10" && text != "10 1" {
			t.Errorf("released: %s", text)
		}
		s.signal(syscall.SIGHUP)
		s.expect("1")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)

		s = m.start(t, plan{Role: "printer", Hold: hold, HoldFor: time.Second, Pause: true})
		s.expect("paused")
		s.signal(syscall.SIGHUP)
		s.say("go on")
		s.expect("ready")
		s.expect("1")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)

		s = m.start(t, plan{Role: "printer", Hold: append(hold, syscall.SIGTERM)})
		s.expect("ready")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)
	})
}

// The job-control stops stop a child in a session of its own too, SIGCONT wakes it.
func TestJobControlStops(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, terminal := range []bool{false, true} {
			s := m.start(t, plan{Args: script("echo ready; exec sleep 60"), Terminal: terminal})
			s.expect("ready") // a stop between fork and exec would stop us too, in vfork(2)
			child := onlyChild(t, s)
			for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU} {
				s.signal(sig)
				eventually(t, fmt.Sprintf("the child stops on %v", sig), func() bool { return state(child) == 'T' })
				s.signal(syscall.SIGCONT)
				eventually(t, "the child continues", func() bool { return state(child) == 'S' })
			}
			// A stop signal ends a stopped child. Whether it has reported the stop yet must not matter.
			s.signal(syscall.SIGTSTP)
			s.signal(syscall.SIGTERM)
			s.expectCode(128 + int(syscall.SIGTERM))
		}
	})
}

// A stop signal ends a child that somebody else has stopped.
func TestStopOfAStoppedChild(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, terminal := range []bool{false, true} {
			s := m.start(t, plan{Args: script("echo ready; exec sleep 60"), Terminal: terminal})
			s.expect("ready") // a stop between fork and exec would stop us too, in vfork(2)
			child := onlyChild(t, s)
			if err := syscall.Kill(child, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child is stopped", func() bool { return state(child) == 'T' })
			s.signal(syscall.SIGINT)
			s.expectCode(128 + int(syscall.SIGINT))
		}
	})
}
