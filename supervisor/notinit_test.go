package supervisor

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"garm-entrypoint/supervisor/threads"
)

func init() {
	// churn ends threads all the time: a goroutine that ends while it is locked takes its thread along.
	extras["churn"] = func() {
		for {
			done := make(chan struct{})
			go func() {
				runtime.LockOSThread()
				close(done)
			}()
			<-done
			runtime.Gosched()
		}
	}
}

// When we are killed, the child dies too; while we live it does not, whatever happens to our threads.
func TestParentDeath(t *testing.T) {
	t.Parallel()
	for _, extra := range []string{"", "churn"} {
		s := modes[1].start(t, plan{Args: script("echo $$; exec sleep 60"), Extra: extra})
		child, err := strconv.Atoi(s.next())
		if err != nil {
			t.Fatal(err)
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 3e8}, nil)
		if state(child) == 0 {
			t.Fatalf("the child has died of a thread of ours; extra %q", extra)
		}
		s.signal(syscall.SIGKILL)
		if got := s.wait(); got != -int(syscall.SIGKILL) {
			t.Fatal(got)
		}
		eventually(t, "the child is gone", func() bool { return state(child) == 0 || state(child) == 'Z' })
	}
}

// Orphans of a supervisor that is not PID 1 come to it and not to PID 1.
func TestSubreaper(t *testing.T) {
	t.Parallel()
	s := modes[1].start(t, plan{Args: script(`(setsid sh -c 'while [ $PPID -lt 0 ]; do :; done; sleep 60' > /dev/null &) ; echo ready; read line`)})
	s.expect("ready")
	eventually(t, "the orphan has become ours", func() bool { return len(childrenOf(s.cmd.Process.Pid)) == 2 })
	s.say("end")
	s.expectCode(0)
	if text := s.stderr.String(); text != "" {
		t.Errorf("there is nothing to warn of: %s", text)
	}
}

func init() {
	// filler forks until it may not any more, says so, and then prints signals.
	roles["filler"] = func() {
		threads.Reserve(threads.Busy) // its own runtime must survive it too
		runtime.LockOSThread()
		got := make(chan os.Signal, 10)
		signal.Notify(got, syscall.SIGUSR1, syscall.SIGTERM)
		fmt.Println("ready")
		n := 0
		for ; n < 1000; n++ {
			if _, errno := forkAndSleep(); errno != 0 {
				break
			}
		}
		fmt.Println("full", n > 10 && n < 1000)
		for sig := range got {
			fmt.Println(int(sig.(syscall.Signal)))
			if sig == syscall.SIGTERM {
				os.Exit(0)
			}
		}
	}
	// stress makes the runtime want threads, once the file STRESS exists.
	extras["stress"] = func() {
		for state := ""; state == ""; {
			if _, err := os.Stat(os.Getenv("STRESS")); err == nil {
				state = "full"
			}
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
		for range 3 {
			go func() {
				for {
					unix.Nanosleep(&unix.Timespec{Nsec: 5e6}, nil)
				}
			}()
		}
		extras["busy"]()
	}
}

// forkAndSleep is fork(2); the child sleeps until its parent or a SIGKILL ends it.
//
//go:norace
//go:nosplit
func forkAndSleep() (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	syscall.RawSyscall6(syscall.SYS_PRCTL, syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0, 0)
	for {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// As an arbitrary user without a passwd entry, with a small limit on processes which the child then fills: we go on
// forwarding, reaping and ending, however many threads Go would like to have. (RLIMIT_NPROC counts threads as the pids
// limit of a container does, and makes clone(2) fail in the same way.)
func TestProcessLimit(t *testing.T) {
	t.Parallel()
	if syscall.Getuid() != 0 {
		t.Skip("needs root, to become a user of whom nothing else runs")
	}
	requireTool(t, "prlimit")
	dir := publicCopy(t)
	for i, test := range []struct {
		mode
		spare int
		extra string
	}{
		{modes[0], threads.Busy, "stress"}, {modes[1], threads.Busy, "stress"},
		{modes[0], threads.Idle, ""}, {modes[1], threads.Idle, ""},
	} {
		m := test.mode
		t.Run(fmt.Sprint(m.name, ", ", test.spare, " spare"), func(t *testing.T) {
			t.Parallel()
			if m.init {
				needNamespaces(t)
			}
			cmd := m.prepare(t, plan{Role: "filler", Spare: test.spare, Extra: test.extra, Proc: "as it is", Grace: 10 * time.Millisecond})
			cmd.Args = []string{"sh", "-c", `exec prlimit --nproc=60 "$0"`, dir + "/self"}
			cmd.Path = "/bin/sh"
			stress := filepath.Join(dir, "stress-"+itoa(i))
			cmd.Env = append(cmd.Env, "STRESS="+stress)
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(54321 + i), Gid: 54321}
			s := launch(t, cmd)
			s.expect("ready")
			s.expect("full true")
			if n := threadCount(t, s.cmd.Process.Pid); n > MinPids {
				t.Errorf("%d threads, we promise at most %d", n, MinPids)
			}
			if err := os.WriteFile(stress, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				s.silence(20 * time.Millisecond)
				s.signal(syscall.SIGUSR1)
				s.expect("10")
			}
			pids := all(s.cmd.Process.Pid)
			s.signal(syscall.SIGTERM)
			s.expect("15")
			s.expectCode(0)
			expectGone(t, pids)
		})
	}
}

// publicCopy makes a directory that every user can use, with the test binary in it as "self".
func publicCopy(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "supervisor-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary, err := os.ReadFile(selfPath())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "self"), binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
