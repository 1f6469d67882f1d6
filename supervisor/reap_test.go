package supervisor

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fork is fork(2): the child, which has no Go runtime, does nothing but exit or, if told so, fork as often and exit.
//
//go:norace
//go:nosplit
func forkAndExit(times int) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	if pid != 0 || errno != 0 {
		return pid, errno
	}
	for range times {
		if pid, _, _ = syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid == 0 {
			break
		}
	}
	for {
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	}
}

func init() {
	// orphans makes as many orphans as its argument says: a process forks them and, without waiting, ends.
	roles["orphans"] = func() {
		n, err := strconv.Atoi(os.Args[1])
		must(err)
		fmt.Println("ready")
		readLine()
		pid, errno := forkAndExit(n)
		if errno != 0 {
			must(errno)
		}
		_, err = syscall.Wait4(int(pid), nil, 0, nil)
		must(err)
		fmt.Println("orphaned")
		readLine()
		os.Exit(7)
	}
}

// zombiesOf counts the zombies whose parent is pid.
func zombiesOf(pid int) (n int) {
	for _, child := range childrenOf(pid) {
		if state(child) == 'Z' {
			n++
		}
	}
	return n
}

// 20,000 orphans at once are gone soon after they have died, without a thread for any of them.
func TestReapsOrphans(t *testing.T) {
	orphans := 20_000
	if testing.Short() || underRace {
		orphans = 2_000
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			if m.init {
				needNamespaces(t)
			}
			s := m.start(t, plan{Role: "orphans", Args: []string{strconv.Itoa(orphans)}})
			s.expect("ready")
			before := threadCount(t, s.cmd.Process.Pid)
			s.say("go on")
			s.expect("orphaned")
			start := time.Now()
			eventually(t, "no zombie is left", func() bool { return zombiesOf(s.cmd.Process.Pid) == 0 })
			t.Logf("%d orphans reaped within %v of their parent's end", orphans, time.Since(start))
			if after := threadCount(t, s.cmd.Process.Pid); after > before {
				t.Errorf("%d threads before, %d after", before, after)
			}
			s.say("end")
			s.expectCode(7)
		})
	}
}

func init() {
	// quick starts children that end at once, with orphans dying beside them, and checks every status.
	roles["quick"] = func() {
		runs, err := strconv.Atoi(os.Args[1])
		must(err)
		s, err := New(Options{})
		must(err)
		for i := range runs {
			child, err := s.Start(plan{Args: script(fmt.Sprintf("(true & true & :) & exit %d", i%256))}.command())
			must(err)
			if st := child.Status(); st.Code() != i%256 {
				fmt.Printf("run %d: %v\n", i, st)
			}
		}
		s.Close()
		fmt.Println("done")
	}
}

// No orphan takes the place of the child, however quickly both end.
func TestQuickChildrenAmongOrphans(t *testing.T) {
	t.Parallel()
	runs := 1000
	if testing.Short() {
		runs = 100
	}
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{})
		cmd.Args = append(cmd.Args, strconv.Itoa(runs))
		cmd.Env = append(cmd.Env, roleVar+"=quick")
		s := launch(t, cmd)
		s.expect("done")
		s.expectCode(0)
	})
}

func init() {
	// executor has a dead child when it becomes a supervisor.
	roles["executor"] = func() {
		if _, errno := forkAndExit(0); errno != 0 {
			must(errno)
		}
		for zombiesOf(os.Getpid()) == 0 {
		}
		must(os.Setenv(roleVar, "supervisor"))
		must(syscall.Exec(selfPath(), os.Args, os.Environ()))
	}
}

// A process may have children before it becomes a supervisor, by exec; these are reaped as well.
func TestReapsInheritedChildren(t *testing.T) {
	t.Parallel()
	cmd := modes[1].prepare(t, plan{Args: script("echo ready; exec sleep 60")})
	cmd.Env = append(cmd.Env, roleVar+"=executor")
	s := launch(t, cmd)
	s.expect("ready")
	eventually(t, "only the child is left", func() bool { return len(childrenOf(s.cmd.Process.Pid)) == 1 })
	s.signal(syscall.SIGTERM)
	s.expectCode(128 + int(syscall.SIGTERM))
}

// SIGCHLD ignored by whoever started us would make the kernel throw all statuses away.
func TestSIGCHLDIgnoredAtStart(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{Args: script("exit 42")})
		cmd.Args = []string{"sh", "-c", `trap "" CHLD; exec "$0"`, cmd.Path}
		cmd.Path = "/bin/sh"
		launch(t, cmd).expectCode(42)
	})
}

// An idle supervisor does not wake up.
func TestIdle(t *testing.T) {
	s := modes[1].start(t, plan{Args: script("echo ready; exec sleep 60"), StopTimeout: time.Minute})
	s.expect("ready")
	pid := s.cmd.Process.Pid
	switches := func() (n int) {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, task := range tasks {
			id, _ := strconv.Atoi(task.Name())
			voluntary, err := strconv.Atoi(statusField(t, id, "voluntary_ctxt_switches"))
			if err != nil {
				t.Fatal(err)
			}
			n += voluntary
		}
		return n
	}
	eventually(t, "it has come to rest", func() bool {
		before := switches()
		unix.Nanosleep(&unix.Timespec{Nsec: 3e8}, nil)
		return switches() == before
	})
	before := switches()
	unix.Nanosleep(&unix.Timespec{Sec: 1}, nil)
	if n := switches() - before; n != 0 {
		t.Errorf("%d context switches in an idle second", n)
	}
}
