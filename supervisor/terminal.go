package supervisor

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminal is our controlling terminal. The loop owns it.
type terminal struct {
	fd    int // close-on-exec; -1: we have none
	given bool
	owner int // the group that had the foreground when we took it back
}

// openTerminal finds the controlling terminal: /dev/tty, or where a container lacks that, the standard descriptor it is
// open on.
func openTerminal() *terminal {
	t := &terminal{fd: -1}
	if fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
		t.fd = fd
		return t
	}
	for std := range 3 {
		if _, err := unix.IoctlGetInt(std, unix.TIOCGPGRP); err != nil {
			continue
		}
		if fd, err := unix.FcntlInt(uintptr(std), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			t.fd = fd
			return t
		}
	}
	return t
}

// gone reports that we had a terminal and it was hung up or taken from our session.
func (t *terminal) gone() bool {
	if t.fd < 0 {
		return false
	}
	_, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil
}

// foreground reports whether our own group has the terminal.
func (t *terminal) foreground() bool {
	return t.group() == syscall.Getpgrp()
}

// group is the foreground group, or -1.
func (t *terminal) group() int {
	if t.fd < 0 {
		return -1
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return -1
	}
	return group
}

// forkForeground starts a child in the foreground. Package syscall makes the child's group the foreground before it
// restores the signal mask, so the child is never stopped by SIGTTOU and never runs in the background.
func (t *terminal) forkForeground(path string, args []string, attr *syscall.ProcAttr) (int, error) {
	attr.Sys.Foreground, attr.Sys.Ctty = true, t.fd
	pid, err := syscall.ForkExec(path, args, attr)
	if err != nil && t.gone() {
		attr.Sys.Foreground = false
		return syscall.ForkExec(path, args, attr)
	}
	t.given = true
	if err != nil {
		t.setGroup(syscall.Getpgrp()) // the child had taken it before it failed
		t.given = false
	}
	return pid, err
}

// give hands the terminal to the child, or to the group that had it before, and reports whether it did. It does not
// unless we have it: after fg, not after bg.
func (t *terminal) give(child int) bool {
	if !t.foreground() {
		return false
	}
	t.given = t.owner > 0 && t.setGroup(t.owner) == nil || t.setGroup(child) == nil
	t.owner = 0
	return t.given
}

// takeBack makes our group the foreground again, if we gave it away, and reports whether it did.
func (t *terminal) takeBack() bool {
	if !t.given {
		return false
	}
	t.given = false
	group := t.group()
	if above, _, err := jobAbove(); err == nil && above == group {
		return false // the shell took it when somebody had stopped us alone, and would end if we took it away
	}
	t.owner = group
	_ = t.setGroup(syscall.Getpgrp()) // fails only when the terminal is gone
	return true
}

// setGroup is tcsetpgrp(3). SIGTTOU is blocked meanwhile: the call comes from a background group, and a caught SIGTTOU
// would restart it for ever.
func (t *terminal) setGroup(group int) error {
	restore := blockInThread(syscall.SIGTTOU)
	defer restore()
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, group)
}

func (t *terminal) close() {
	if t.fd >= 0 {
		_ = unix.Close(t.fd)
	}
}

// blockInThread blocks signals in the calling thread, which must be locked, and returns the way back.
func blockInThread(sigs ...syscall.Signal) (restore func()) {
	var old unix.Sigset_t
	set := sigset(sigs...)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, &old); err != nil {
		return func() {}
	}
	return func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }
}

func sigset(sigs ...syscall.Signal) (set unix.Sigset_t) {
	const bits = 8 * int(unsafe.Sizeof(set.Val[0]))
	for _, sig := range sigs {
		n := int(sig) - 1
		set.Val[n/bits] |= 1 << (n % bits)
	}
	return set
}

// resumable reports whether somebody can continue us after a stop: a shell with job control is above us in our session,
// but outside our group. Otherwise our group is orphaned (setpgid(2)) and a stop would be for ever.
func resumable() bool {
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	_, above, err := jobAbove()
	return err == nil && above == session
}

// jobAbove finds the nearest process above us that is not in our group, and returns its group and session.
func jobAbove() (group, session int, err error) {
	for pid := os.Getppid(); pid > 0; {
		if group, err = unix.Getpgid(pid); err != nil {
			return 0, 0, err
		}
		if group != syscall.Getpgrp() {
			session, err = unix.Getsid(pid)
			return group, session, err
		}
		p, err := readProcess(pid)
		if err != nil {
			return 0, 0, err
		}
		pid = p.parent
	}
	return 0, 0, syscall.ESRCH
}
