package signals

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// echoVar makes the test binary take its signals and print them; its value says what it does beside.
	echoVar = "SIGNALS_TEST_ECHO"
	// otherVar has the command line of another test binary to start, that of another architecture in an emulator.
	otherVar = "SIGNALS_TEST_OTHER"
	// patience is how long a test waits for what must come.
	patience = 60 * time.Second
)

func TestMain(m *testing.M) {
	if beside, ok := os.LookupEnv(echoVar); ok {
		echo(beside)
		return
	}
	os.Exit(m.Run())
}

// echo prints every signal that arrives, until SIGTERM, and "children" for SIGCHLD.
func echo(beside string) {
	if beside == "no descriptors" {
		must(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: 3}))
	}
	t := Take()
	if err := t.Err(); err != nil {
		fmt.Println(err)
		return
	}
	switch beside {
	case "faults":
		go repeat(makeFaults)
	case "busy":
		go repeat(func() { _ = make([]byte, 1<<20); runtime.GC() })
	case "broken pipe":
		go repeat(writeToNobody())
	case "ignore":
		t.IgnoreWhile([]syscall.Signal{syscall.SIGHUP}, func() { must(syscall.Kill(os.Getpid(), syscall.SIGHUP)) })
	}
	if beside == "flood" {
		flood(t)
		return
	}
	if beside == "release" {
		t.Release()
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGTERM)
		fmt.Println("ready")
		fmt.Println(<-got)
		return
	}
	fmt.Println("ready")
	for {
		t.Wait(time.Time{})
		if t.Children() {
			t.ReapingNow()
			fmt.Println("children")
		}
		next, ok := t.Next()
		if ok {
			fmt.Println(int(next.Signal))
		}
		if next.Signal == syscall.SIGTERM {
			return
		}
	}
}

// flood lets more signals come than fit into the pipe, then another one, and prints that.
func flood(t *Trap) {
	for range 1 << 16 {
		must(syscall.Kill(os.Getpid(), 40))
	}
	must(syscall.Kill(os.Getpid(), syscall.SIGTERM))
	for {
		t.Wait(time.Time{})
		for next, ok := t.Next(); ok; next, ok = t.Next() {
			if next.Signal != 40 {
				fmt.Println(int(next.Signal))
				return
			}
		}
	}
}

func repeat(f func()) {
	for {
		f()
	}
}

// makeFaults makes the kernel send us SIGSEGV and SIGFPE, of which Go makes panics.
func makeFaults() {
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

// writeToNobody returns what makes the kernel send us SIGPIPE, by a pipe and by a connection.
func writeToNobody() func() {
	var fds [2]int
	must(syscall.Pipe(fds[:]))
	must(syscall.Close(fds[0]))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	conn, err := net.Dial("tcp", l.Addr().String())
	must(err)
	peer, err := l.Accept()
	must(err)
	must(peer.Close())
	return func() {
		for _, write := range []func() error{
			func() error { _, err := syscall.Write(fds[1], []byte("x")); return err },
			func() error { _, err := conn.Write([]byte("x")); return err },
		} {
			if err := write(); err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
				must(err)
			}
		}
	}
}

func must(err error) {
	if err != nil {
		fmt.Println("test helper:", err)
		os.Exit(99)
	}
}

// echoer is a process that prints its signals.
type echoer struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// start starts one and waits until it has taken its signals.
func start(t *testing.T, beside string) *echoer {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	if other := strings.Fields(os.Getenv(otherVar)); len(other) > 0 {
		cmd = exec.Command(other[0], other[1:]...)
	}
	cmd.Env = append(os.Environ(), echoVar+"="+beside)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := &echoer{t: t, cmd: cmd, lines: make(chan string, 10_000)}
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			e.lines <- scanner.Text()
		}
		close(e.lines)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return e
}

// next is the next line; "" at the end.
func (e *echoer) next() string {
	e.t.Helper()
	select {
	case line := <-e.lines:
		return line
	case <-time.After(patience):
		e.t.Fatal("nothing is printed")
		return ""
	}
}

func (e *echoer) expect(want string) {
	e.t.Helper()
	if got := e.next(); got != want {
		e.t.Fatalf("got %q, want %q", got, want)
	}
}

func (e *echoer) send(sig syscall.Signal) {
	e.t.Helper()
	if err := e.cmd.Process.Signal(sig); err != nil {
		e.t.Fatal(err)
	}
}

// awaitStop waits until all its threads have stopped.
func (e *echoer) awaitStop() {
	e.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", e.cmd.Process.Pid))
		if err != nil {
			e.t.Fatal(err)
		}
		if len(stats) > 0 && !slices.ContainsFunc(stats, func(path string) bool {
			stat, err := os.ReadFile(path)
			return err != nil || !strings.Contains(string(stat), ") T ")
		}) {
			return
		}
		if time.Now().After(deadline) {
			e.t.Fatal("it does not stop")
		}
	}
}

// end ends it, after which nothing else must have been printed.
func (e *echoer) end() {
	e.t.Helper()
	e.send(syscall.SIGTERM)
	e.expect("15")
	e.expect("")
	if err := e.cmd.Wait(); err != nil {
		e.t.Error(err)
	}
}

// all are the signals that must arrive.
func all() (sigs []syscall.Signal) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		if taken(sig) && sig != syscall.SIGCHLD {
			sigs = append(sigs, sig)
		}
	}
	return sigs
}

// Each signal arrives once, whatever else goes on: faults of our own, garbage collections (with SIGURG), broken pipes
// (with SIGPIPE).
func TestEverySignal(t *testing.T) {
	if n := len(all()); n != 59 {
		t.Fatalf("%d signals of 64, want all but SIGKILL, SIGSTOP, SIGCHLD, SIGURG and 33", n)
	}
	for _, beside := range []string{"nothing", "faults", "busy", "broken pipe"} {
		t.Run(beside, func(t *testing.T) {
			t.Parallel()
			e := start(t, beside)
			e.expect("ready")
			for _, sig := range all() {
				if sig != syscall.SIGTERM {
					e.send(sig)
					e.expect(strconv.Itoa(int(sig)))
				}
			}
			e.end()
		})
	}
}

// Of a burst, the kernel keeps one of each standard signal and all real-time ones, and so do we.
func TestBurst(t *testing.T) {
	t.Parallel()
	const n = 300
	e := start(t, "")
	e.expect("ready")
	e.send(syscall.SIGSTOP)
	e.awaitStop()
	for range n {
		e.send(syscall.SIGUSR1)
		e.send(40)
		e.send(64)
	}
	e.send(syscall.SIGCONT)
	got := make(map[string]int)
	for range 2*n + 2 {
		got[e.next()]++
	}
	if want := map[string]int{"10": 1, "18": 1, "40": n, "64": n}; !mapsEqual(got, want) {
		t.Errorf("arrived: %v, want %v", got, want)
	}
	e.end()
}

// After Release, package os/signal gets the signals.
func TestRelease(t *testing.T) {
	t.Parallel()
	e := start(t, "release")
	e.expect("ready")
	e.send(syscall.SIGTERM)
	e.expect("terminated")
}

// No flood of other signals evicts a stop signal.
func TestFlood(t *testing.T) {
	t.Parallel()
	start(t, "flood").expect("15")
}

func mapsEqual(a, b map[string]int) bool {
	return fmt.Sprint(a) == fmt.Sprint(b) // in the order of the keys
}

// SIGCHLD is told of again only after ReapingNow.
func TestChildren(t *testing.T) {
	t.Parallel()
	e := start(t, "")
	e.expect("ready")
	for range 3 {
		e.send(syscall.SIGCHLD)
		e.expect("children")
	}
	e.end()
}

// What is ignored while something runs is gone, and arrives again afterwards.
func TestIgnoreWhile(t *testing.T) {
	t.Parallel()
	e := start(t, "ignore")
	e.expect("ready")
	e.send(syscall.SIGHUP)
	e.expect("1")
	e.end()
}

func TestNoDescriptorLeft(t *testing.T) {
	t.Parallel()
	e := start(t, "no descriptors")
	if line := e.next(); !strings.Contains(line, "cannot take signals") || !strings.Contains(line, "too many open files") {
		t.Errorf("got %q", line)
	}
}

// A trap keeps the order, one of each standard signal, and a limited number of the others.
func TestTrap(t *testing.T) {
	t.Parallel()
	trap := New()
	for _, sig := range []syscall.Signal{10, 40, 10, 12, 40, 10, 64} {
		trap.Put(sig)
	}
	var got []syscall.Signal
	for trap.Waiting() {
		trap.Wait(time.Time{})
		next, _ := trap.Next()
		got = append(got, next.Signal)
	}
	if want := []syscall.Signal{10, 40, 12, 40, 64}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if next, ok := trap.Next(); ok {
		t.Errorf("got %v from an empty trap", next)
	}
	for range queueLimit + 5 {
		trap.Put(40)
	}
	trap.Put(syscall.SIGTERM)
	trap.Put(syscall.SIGTERM)
	n, last := 0, syscall.Signal(0)
	for next, ok := trap.Next(); ok; next, ok = trap.Next() {
		n, last = n+1, next.Signal
	}
	if n != queueLimit+1 || last != syscall.SIGTERM {
		t.Errorf("%d kept, the last is %v; want the limit and a SIGTERM", n, last)
	}
}

// A Wake is never lost, whenever it comes.
func TestWake(t *testing.T) {
	t.Parallel()
	trap := New()
	requests, done := make(chan int, 1), make(chan struct{})
	const n = 10_000
	go func() {
		defer close(done)
		for i := range n {
			requests <- i
			trap.Wake()
		}
	}()
	for served := 0; served < n; {
		select {
		case i := <-requests:
			if i != served {
				t.Fatalf("got %d, want %d", i, served)
			}
			served++
		default:
			before := time.Now()
			if trap.Wait(before.Add(patience)); time.Since(before) >= patience {
				t.Fatalf("no wake for request %d", served)
			}
		}
	}
	<-done
}
