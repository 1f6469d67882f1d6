package supervisor

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deaf is a child that says what it gets and does not end.
const deaf = `for s in TERM INT QUIT; do trap "echo $s" $s; done; echo ready; while :; do sleep 60 & wait $!; done`

// The first stop signal starts the StopTimeout, at whose end comes SIGKILL. Further ones are forwarded and change
// nothing.
func TestStopTimeout(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for first, timeout := range map[syscall.Signal]time.Duration{
			syscall.SIGTERM: 10 * time.Second, syscall.SIGINT: 200 * time.Millisecond, syscall.SIGQUIT: 200 * time.Millisecond,
		} {
			s := m.start(t, plan{Args: script(deaf), StopTimeout: timeout, Grace: 50 * time.Millisecond})
			s.expect("ready")
			s.signal(syscall.SIGWINCH) // not a stop signal
			start := time.Now()
			s.signal(first)
			s.expect(strings.TrimPrefix(signalName(first), "SIG"))
			time.Sleep(timeout / 2) // the second one comes when half of the time has passed, and does not start it anew
			s.signal(syscall.SIGTERM)
			s.expect("TERM")
			s.expectCode(128 + int(syscall.SIGKILL))
			if took := time.Since(start); took < timeout || took > timeout+slack { // anew would be half of it more: 5 s with SIGTERM
				t.Errorf("%v: it took %v", first, took)
			}
			if text := s.stderr.String(); !strings.Contains(text, "did not end in time") {
				t.Errorf("the log does not say so: %s", text)
			}
		}
	})
}

// slack is what a loaded machine may take longer.
const slack = 4900 * time.Millisecond

// Without a StopTimeout, and without a stop signal, there is no SIGKILL.
func TestNoStopTimeout(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Args: script(deaf), Grace: 50 * time.Millisecond})
		s.expect("ready")
		s.signal(syscall.SIGTERM)
		s.expect("TERM")
		s.silence(300 * time.Millisecond)

		s = m.start(t, plan{Args: script(deaf), StopTimeout: 50 * time.Millisecond})
		s.expect("ready")
		s.silence(300 * time.Millisecond)
	})
}

// A child that ends in time is not said to have been killed.
func TestStopInTime(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Role: "printer", StopTimeout: time.Minute})
		s.expect("ready")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)
		if text := s.stderr.String(); text != "" {
			t.Errorf("stderr: %s", text)
		}
	})
}

func init() {
	// api uses what the other roles do not: Stop, StopRequested, StopSignal, Files, the errors of Start.
	roles["api"] = func() {
		s, err := New(Options{})
		must(err)
		stubborn := plan{Args: script(`trap "" TERM; echo ready >&3; exec sleep 60`), StopTimeout: 100 * time.Millisecond}.command()
		r, w, err := os.Pipe()
		must(err)
		stubborn.Files = []*os.File{w}
		child, err := s.Start(stubborn)
		must(err)
		w.Close()
		_, err = r.Read(make([]byte, 10))
		must(err)
		_, err = s.Start(plan{Args: []string{"true"}}.command())
		check(err == ErrRunning, "second start while the first runs", err)
		child.Stop()
		child.Stop()
		st := child.Status()
		check(st.TimedOut() && st.Code() == 137, "status after Stop", st)
		child.Stop()
		child.Release()
		check(s.StopSignal() == 0, "Stop is not a request to stop us", s.StopSignal())
		select {
		case <-s.StopRequested():
			check(false, "StopRequested is closed")
		default:
		}
		child, err = s.Start(plan{Args: []string{"true"}}.command())
		must(err)
		check(child.Status().Code() == 0, "the next child", child.Status())
		s.Close()
		s.Close()
		_, err = s.Start(plan{Args: []string{"true"}}.command())
		check(err == ErrClosed, "start after Close", err)
		fmt.Println("done")
	}
}

func check(ok bool, args ...any) {
	if !ok {
		fmt.Println(args...)
	}
}

func TestAPI(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{})
		cmd.Env = append(cmd.Env, roleVar+"=api")
		s := launch(t, cmd)
		s.expect("done")
		s.expectCode(0)
	})
}
