package supervisor

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/supervisor/signals"

	"golang.org/x/sys/unix"
)

func init() {
	// puppet reports its signals on descriptor 4 and obeys commands from descriptor 3.
	roles["puppet"] = func() {
		in, out := bufio.NewScanner(os.NewFile(3, "in")), os.NewFile(4, "out")
		got := make(chan os.Signal, 1000)
		for _, sig := range seenByGo() {
			signal.Notify(got, sig)
		}
		go func() {
			for sig := range got {
				fmt.Fprintf(out, "signal %d\n", sig)
			}
		}()
		fmt.Fprintln(out, "ready")
		for in.Scan() {
			verb, arg, _ := strings.Cut(in.Text(), " ")
			n, err := strconv.Atoi(arg)
			must(err)
			switch verb {
			case "exit":
				os.Exit(n)
			case "die":
				must(syscall.Kill(os.Getpid(), syscall.Signal(n)))
			case "orphans":
				pid, errno := forkAndExit(n)
				if errno != 0 {
					must(errno)
				}
				_, err := syscall.Wait4(int(pid), nil, 0, nil)
				must(err)
				fmt.Fprintln(out, "orphaned")
			}
		}
	}
	roles["model"] = func() {
		seed, err := strconv.ParseUint(os.Args[1], 10, 64)
		must(err)
		steps, err := strconv.Atoi(os.Args[2])
		must(err)
		newModel(seed).run(steps)
	}
}

// model drives a supervisor, whose signals come from the model and not from the kernel, and knows what should happen.
type model struct {
	rand *rand.Rand
	trap *signals.Trap
	s    *Supervisor
	log  []string

	child   *Child
	in      *os.File
	reports chan string

	pending []syscall.Signal // a set
	stop    syscall.Signal
}

func newModel(seed uint64) *model {
	trap := signals.Take()
	s, err := New(Options{Signals: trap})
	must(err)
	return &model{rand: rand.New(rand.NewPCG(seed, seed)), trap: trap, s: s}
}

func (m *model) run(steps int) {
	ops := []func(){
		m.start, m.start, m.start, m.other, m.other, m.other, m.flood, m.orphans, m.orphans, m.stopAndContinue, m.exit, m.die, m.killed, m.askToStop,
	}
	for range steps {
		ops[m.rand.IntN(len(ops))]()
		m.invariants()
	}
	m.s.Close()
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		m.fail("children are left: %v", err)
	}
	fmt.Println("done")
}

func (m *model) note(format string, args ...any) { m.log = append(m.log, fmt.Sprintf(format, args...)) }

func (m *model) fail(format string, args ...any) {
	fmt.Printf("after %s: %s\n", strings.Join(m.log, "; "), fmt.Sprintf(format, args...))
	os.Exit(1)
}

// report is the child's next one.
func (m *model) report() string {
	select {
	case r := <-m.reports:
		return r
	case <-time.After(patience / 2):
		m.fail("no report from the child")
		return ""
	}
}

func (m *model) expect(want string) {
	if got := m.report(); got != want {
		m.fail("the child reports %q, want %q", got, want)
	}
}

func (m *model) start() {
	m.note("start")
	inR, inW, err := os.Pipe()
	must(err)
	outR, outW, err := os.Pipe()
	must(err)
	cmd := plan{Role: "puppet"}.command()
	cmd.Files = []*os.File{inR, outW}
	child, err := m.s.Start(cmd)
	inR.Close()
	outW.Close()
	var stopped *StopRequestedError
	switch {
	case m.child != nil:
		if err != ErrRunning {
			m.fail("got %v, want ErrRunning", err)
		}
		return
	case m.stop != 0:
		if !errors.As(err, &stopped) || stopped.Signal != m.stop {
			m.fail("got %v, want a refusal because of %v", err, m.stop)
		}
		return
	case err != nil:
		m.fail("%v", err)
	}
	m.child, m.in, m.reports = child, inW, make(chan string, 1000)
	go func(reports chan string) {
		for scanner := bufio.NewScanner(outR); scanner.Scan(); {
			reports <- scanner.Text()
		}
		close(reports)
	}(m.reports)
	want := []string{"ready"}
	for _, sig := range m.pending {
		want = append(want, fmt.Sprintf("signal %d", sig))
	}
	m.pending = nil
	for len(want) > 0 {
		r := m.report()
		i := slices.Index(want, r)
		if i < 0 {
			m.fail("the child reports %q, want one of %q", r, want)
		}
		want = slices.Delete(want, i, i+1)
	}
}

func (m *model) other() {
	sigs := blockable()
	sig := sigs[m.rand.IntN(len(sigs))]
	m.note("%d", sig)
	m.trap.Put(sig)
	if m.child != nil {
		m.expect(fmt.Sprintf("signal %d", sig))
	} else if !slices.Contains(m.pending, sig) {
		m.pending = append(m.pending, sig)
	}
}

// flood sends many signals and does not wait for them; the child dies of something else in between.
func (m *model) flood() {
	if m.child == nil {
		return
	}
	m.note("flood")
	for range m.rand.IntN(100) {
		m.trap.Put(syscall.SIGWINCH)
	}
	must(syscall.Kill(m.child.Pid(), syscall.SIGKILL))
	m.ended(128 + 9)
	// What came after the child's end is kept for the next one, what came before is not: both are right.
	m.pending = slices.DeleteFunc(m.pending, func(sig syscall.Signal) bool { return sig == syscall.SIGWINCH })
	m.trap.Put(syscall.SIGWINCH)
	m.pending = append(m.pending, syscall.SIGWINCH)
}

func (m *model) orphans() {
	if m.child == nil {
		return
	}
	n := m.rand.IntN(20)
	m.note("%d orphans", n)
	fmt.Fprintln(m.in, "orphans", n)
	m.expect("orphaned")
}

func (m *model) stopAndContinue() {
	if m.child == nil {
		return
	}
	m.note("TSTP, CONT")
	m.trap.Put(syscall.SIGTSTP)
	m.poll("the child stops", func() bool { return state(m.child.Pid()) == 'T' })
	m.trap.Put(syscall.SIGCONT)
	m.expect("signal 18")
}

func (m *model) exit() {
	if m.child == nil {
		return
	}
	code := m.rand.IntN(256)
	m.note("exit %d", code)
	fmt.Fprintln(m.in, "exit", code)
	m.ended(code)
}

func (m *model) die() {
	if m.child == nil {
		return
	}
	m.note("die")
	fmt.Fprintln(m.in, "die", int(syscall.SIGKILL))
	m.ended(128 + 9)
}

// killed ends the child from outside, while it may be stopped.
func (m *model) killed() {
	if m.child == nil {
		return
	}
	m.note("kill")
	if m.rand.IntN(2) == 0 {
		must(syscall.Kill(m.child.Pid(), syscall.SIGSTOP))
	}
	must(syscall.Kill(m.child.Pid(), syscall.SIGKILL))
	m.ended(128 + 9)
}

func (m *model) askToStop() {
	if m.rand.IntN(4) > 0 {
		return // seldom: nothing starts after it
	}
	sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT}[m.rand.IntN(3)]
	m.note("%v", sig)
	m.trap.Put(sig)
	if m.stop == 0 {
		m.stop = sig
	}
	<-m.s.StopRequested()
	if m.child != nil {
		m.expect(fmt.Sprintf("signal %d", sig))
	}
}

func (m *model) ended(code int) {
	if got := m.child.Status().Code(); got != code {
		m.fail("status %d, want %d", got, code)
	}
	m.child = nil
	m.in.Close()
	for range m.reports { // until the pipe ends
	}
}

// invariants hold after every step.
func (m *model) invariants() {
	if got := m.s.StopSignal(); got != m.stop {
		m.fail("StopSignal %v, want %v", got, m.stop)
	}
	want := 0
	if m.child != nil {
		want = 1
	}
	m.poll("all orphans are reaped", func() bool { return len(childrenOf(os.Getpid())) == want })
	if m.child != nil {
		select {
		case r := <-m.reports:
			m.fail("unexpected report %q", r)
		case <-m.child.Done():
			m.fail("the child has ended")
		default:
		}
	}
}

func (m *model) poll(what string, ok func() bool) {
	for deadline := time.Now().Add(patience / 2); !ok(); unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil) {
		if time.Now().After(deadline) {
			m.fail("it did not happen that %s", what)
		}
	}
}

// Random sequences of starts, signals, orphans and ends go as a small model says.
func TestModel(t *testing.T) {
	t.Parallel()
	seeds, steps := 6, 100
	if testing.Short() {
		seeds = 2
	}
	for range seeds {
		seed := rand.Uint64()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			cmd := modes[1].prepare(t, plan{})
			cmd.Args = append(cmd.Args, strconv.FormatUint(seed, 10), strconv.Itoa(steps))
			cmd.Env = append(cmd.Env, roleVar+"=model")
			var s *supervised
			withBlocked(blockable(), func() { s = launch(t, cmd) })
			s.expect("done")
			s.expectCode(0)
		})
	}
}
