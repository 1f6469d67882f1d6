package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// syncBuffer collects the output of a process that may still be running.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// forwardable are the signals that a supervisor promises to forward.
func forwardable() (sigs []syscall.Signal) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, 33:
		default:
			sigs = append(sigs, sig)
		}
	}
	return sigs
}

// seenByGo are those of them that a Go program with package os/signal gets to see.
func seenByGo() []syscall.Signal {
	return slices.DeleteFunc(forwardable(), func(sig syscall.Signal) bool { return sig == syscall.SIGPROF || sig == 32 || sig == 34 })
}

// blockable are those that Go lets us keep blocked, and so hand to a child blocked, which then cannot miss one.
func blockable() (sigs []syscall.Signal) {
	for _, sig := range seenByGo() {
		switch sig {
		case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS,
			syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGTERM, syscall.SIGSTKFLT, syscall.SIGSYS,
			syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT:
		default:
			sigs = append(sigs, sig)
		}
	}
	return sigs
}

// withBlocked runs start while sigs are blocked in its thread, so that the process it starts begins with them blocked.
func withBlocked(sigs []syscall.Signal, start func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer blockInThread(sigs...)()
	start()
}

func init() {
	// printer prints "ready" and then every signal it gets, until SIGTERM. PRINTER_OUT names a file to print to,
	// PRINTER_MARK comes first.
	roles["printer"] = func() {
		out := os.Stdout
		if path := os.Getenv("PRINTER_OUT"); path != "" {
			var err error
			out, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			must(err)
		}
		got := make(chan os.Signal, 1000)
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if sig != syscall.SIGURG { // the printer's own runtime sends it
				signal.Notify(got, sig)
			}
		}
		mark := os.Getenv("PRINTER_MARK")
		fmt.Fprintln(out, mark+"ready")
		for sig := range got {
			fmt.Fprintln(out, mark+strconv.Itoa(int(sig.(syscall.Signal))))
			if sig == syscall.SIGTERM {
				return
			}
		}
	}
}

// state is the letter of /proc/PID/stat, 0 when there is no such process.
func state(pid int) byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	return stat[bytes.LastIndexByte(stat, ')')+2]
}

// childrenOf lists the children of a process, by /proc.
func childrenOf(pid int) (children []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		id, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if p, err := readProcess(id); err == nil && p.parent == pid {
			children = append(children, id)
		}
	}
	return children
}

// onlyChild waits for the one child of a supervisor.
func onlyChild(t *testing.T, s *supervised) (pid int) {
	t.Helper()
	eventually(t, "the supervisor has a child", func() bool {
		children := childrenOf(s.cmd.Process.Pid)
		if len(children) == 1 {
			pid = children[0]
		}
		return pid != 0
	})
	return pid
}

// statusField reads a line of /proc/PID/status.
func statusField(t *testing.T, pid int, name string) string {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in /proc/%d/status", name, pid)
	return ""
}

// pendingSignals are the signals that were sent to a process and that none of its threads has taken yet.
func pendingSignals(t *testing.T, pid int) uint64 {
	t.Helper()
	set, err := strconv.ParseUint(statusField(t, pid, "ShdPnd"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// threads is the number of threads of a process.
func threadCount(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	return len(tasks)
}

// brokenPipe returns the write end of a pipe that nobody reads.
func brokenPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	t.Cleanup(func() { w.Close() })
	return w
}

// fullPipe returns the write end of a pipe that takes no byte more and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	for _, err := unix.Write(fds[1], make([]byte, 1)); err == nil; _, err = unix.Write(fds[1], make([]byte, 1)) {
	}
	if err := unix.SetNonblock(fds[1], false); err != nil {
		t.Fatal(err)
	}
	w := os.NewFile(uintptr(fds[1]), "full pipe")
	t.Cleanup(func() { w.Close(); unix.Close(fds[0]) })
	return w
}

// script is the argument list of a shell script.
func script(text string) []string { return []string{"sh", "-c", text} }

func requireTool(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}
