package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/supervisor/mainthread"
	"garm-entrypoint/supervisor/signals"
	"garm-entrypoint/supervisor/threads"
)

// The test binary plays all parts: the variables say which. Without them it runs the tests.
const (
	roleVar = "SUPERVISOR_TEST_ROLE"
	planVar = "SUPERVISOR_TEST_PLAN"
)

// roles are what the re-executed test binary can be.
var roles = map[string]func(){}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		if signal.Ignored(syscall.SIGHUP) { // by nohup: what we start must not inherit that
			signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
		}
		for _, sig := range []syscall.Signal{32, 34} {
			setAction(sig, 0)
		}
		os.Exit(m.Run())
	}
	f, ok := roles[role]
	if !ok {
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(3)
	}
	mainthread.Run(f)
	os.Exit(0)
}

// plan is what a supervisor under test does: New, Start, wait, Close, exit with the child's status.
type plan struct {
	Args        []string
	Role        string   // of the child, if it is the test binary too
	Env         []string // added to the child's environment
	Terminal    bool
	Hold        []syscall.Signal
	HoldFor     time.Duration
	StopTimeout time.Duration
	Grace       time.Duration
	Umask       int // 0: untouched

	Before  []string // a child to start and wait for first
	Pause   bool     // before the start: print "paused" and wait for a line on stdin
	Release bool     // wait for a line on stdin, then Release
	Repeat  int      // start the child again and again, print how each ended
	Spare   int      // threads to reserve; 0: as New does
	Extra   string   // what the supervisor's process does beside: see extras
	Proc    string   // "mount": a fresh /proc; "hide": none
}

// extras run in a supervisor's process, beside the supervisor.
var extras = map[string]func(){}

func init() {
	roles["supervisor"] = func() {
		trap := signals.Take()
		var p plan
		must(json.Unmarshal([]byte(os.Getenv(planVar)), &p))
		switch p.Proc {
		case "mount":
			must(syscall.Mount("proc", "/proc", "proc", 0, ""))
		case "hide":
			must(syscall.Mount("tmpfs", "/proc", "tmpfs", 0, ""))
		}
		if p.Spare > 0 {
			threads.Reserve(p.Spare)
		}
		s, err := New(Options{
			Logger:  slog.New(slog.NewTextHandler(LogWriter(2), nil)),
			Signals: trap,
			Grace:   p.Grace,
		})
		must(err)
		if p.Extra != "" {
			go extras[p.Extra]()
		}
		code := p.run(s)
		s.Close()
		os.Exit(code)
	}
}

// run starts the child of the plan and waits for it.
func (p plan) run(s *Supervisor) int {
	if p.Before != nil {
		first, err := s.Start(plan{Args: p.Before}.command())
		must(err)
		<-first.Done()
	}
	if p.Pause {
		fmt.Println("paused")
		readLine()
	}
	for i := range p.Repeat {
		fmt.Println("starting", i)
		child, err := s.Start(p.command())
		must(err)
		fmt.Println(child.Status().Code())
	}
	child, err := s.Start(p.command())
	if err != nil {
		exitWith(err)
	}
	if p.Release {
		readLine()
		child.Release()
	}
	return child.Status().Code()
}

// exitWith ends as a program does that could not start its child.
func exitWith(err error) {
	fmt.Fprintln(os.Stderr, err)
	code := 1
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		code = coded.ExitCode()
	}
	os.Exit(code)
}

// readLine reads a line of stdin, and nothing beyond, which belongs to the child.
func readLine() {
	for b := []byte{0}; b[0] != '\n'; {
		if _, err := os.Stdin.Read(b); err != nil {
			return
		}
	}
}

func (p plan) command() Command {
	c := Command{
		Args: p.Args, Umask: -1, Terminal: p.Terminal,
		Hold: p.Hold, HoldFor: p.HoldFor, StopTimeout: p.StopTimeout,
	}
	if p.Umask != 0 {
		c.Umask = p.Umask
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, roleVar+"=") && !strings.HasPrefix(v, planVar+"=") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, p.Env...)
	if p.Role != "" {
		c.Args = append([]string{selfPath()}, p.Args...)
		c.Env = append(c.Env, roleVar+"="+p.Role)
	}
	path, err := LookPath(c.Args[0], os.Getenv("PATH"))
	if err != nil {
		exitWith(err)
	}
	c.Path = path
	return c
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "test helper:", err)
		os.Exit(99)
	}
}

func selfPath() string {
	path, err := os.Executable()
	must(err)
	return path
}

// mode is how a supervisor under test is run.
type mode struct {
	name string
	init bool // as PID 1 of a PID namespace of its own
}

var modes = []mode{{"PID 1", true}, {"subreaper", false}}

// inModes runs a test as PID 1 and as a subreaper.
func inModes(t *testing.T, test func(t *testing.T, m mode)) {
	t.Helper()
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.init {
				needNamespaces(t)
			}
			test(t, m)
		})
	}
}

func needNamespaces(t *testing.T) {
	t.Helper()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		t.Skipf("cannot make a PID namespace here, so there is no PID 1 to test: %v", err)
	}
}

// supervised is a running supervisor under test.
type supervised struct {
	t      *testing.T
	cmd    *exec.Cmd
	lines  chan string // of stdout
	stderr *syncBuffer
	ended  chan struct{}
	stdin  io.Writer
}

// prepare makes the command of a supervisor under test.
func (m mode) prepare(t *testing.T, p plan) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(selfPath())
	// A session of its own: the outcome must not depend on the shell that runs the tests.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if m.init {
		cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWPID, syscall.CLONE_NEWNS
		if p.Proc == "" {
			p.Proc = "mount"
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), roleVar+"=supervisor", planVar+"="+string(text))
	return cmd
}

// start runs a supervisor under test.
func (m mode) start(t *testing.T, p plan) *supervised {
	t.Helper()
	return launch(t, m.prepare(t, p))
}

func launch(t *testing.T, cmd *exec.Cmd) *supervised {
	t.Helper()
	s := &supervised{t: t, cmd: cmd, lines: make(chan string, 1000), stderr: &syncBuffer{}, ended: make(chan struct{})}
	if cmd.Stderr == nil {
		cmd.Stderr = s.stderr
	}
	cmd.WaitDelay = 5 * time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Stdin == nil {
		if s.stdin, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			s.lines <- scanner.Text()
		}
		close(s.lines)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		select {
		case <-s.ended:
		default: // the test has failed, or was not about the end
			for _, pid := range all(cmd.Process.Pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			<-s.ended
		}
	})
	return s
}

const patience = 90 * time.Second

// next is the next line of stdout.
func (s *supervised) next() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatalf("stdout ended; stderr: %s", s.stderr)
		}
		return line
	case <-time.After(patience):
		s.t.Fatalf("no line on stdout; stderr: %s", s.stderr)
	}
	return ""
}

func (s *supervised) expect(want string) {
	s.t.Helper()
	if got := s.next(); got != want {
		s.t.Fatalf("got %q, want %q; stderr: %s", got, want, s.stderr)
	}
}

// say writes a line to stdin.
func (s *supervised) say(line string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		s.t.Fatal(err)
	}
}

// silence fails if a line comes within the time, which is therefore only as good as the time is long.
func (s *supervised) silence(d time.Duration) {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if ok {
			s.t.Fatalf("unexpected line %q; stderr: %s", line, s.stderr)
		}
	case <-time.After(d):
	}
}

func (s *supervised) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("%v; stderr: %s", err, s.stderr)
	}
}

// wait waits for the end and returns the exit status, -N if signal N ended it.
func (s *supervised) wait() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("the supervisor did not end; stderr: %s", s.stderr)
	}
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return -int(status.Signal())
	}
	return status.ExitStatus()
}

func (s *supervised) expectCode(want int) {
	s.t.Helper()
	if got := s.wait(); got != want {
		s.t.Fatalf("exit status %d, want %d; stderr: %s", got, want, s.stderr)
	}
}

// eventually polls until ok, or fails.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in %v it did not happen that %s", patience, what)
		}
	}
}
