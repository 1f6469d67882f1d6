package supervisor

import (
	"syscall"
	"unsafe"
)

const (
	// reapBatch bounds one pass, also while orphans die faster than we can reap them: some 100 ms.
	reapBatch = 1 << 14
	// reapCheck is how many are reaped until the next look for signals, which come first.
	reapCheck = 64
	// reapQuietly is how many are reaped in one go before more are expected, and SIGCHLD turned off.
	reapQuietly = 8
)

// reap collects every status that is ready. SIGCHLD is merged by the kernel and by us, so it only means "look again".
func (l *loop) reap() {
	found := l.collect(reapQuietly)
	if !found.drained {
		l.trap.WithoutSIGCHLD(func() { found = l.collect(reapBatch) })
		if found.drained { // but what has died between the last look and the return of SIGCHLD told nobody
			found = l.collect(reapQuietly)
		}
	}
	l.ending.alone = found.alone
	l.reapAgain = !found.drained // after the signals
}

// collect reaps up to n.
func (l *loop) collect(n int) found {
	l.trap.ReapingNow()
	found := waitSome(n, l.childID(), l.trap.Waiting)
	for _, status := range found.child {
		l.changed(l.child, status)
	}
	return found
}

// found is what waitSome came to know.
type found struct {
	child   []syscall.WaitStatus // what wait4 said about the child, in order
	drained bool                 // nothing more is ready
	alone   bool                 // there are no children at all
}

// waitSome reaps up to n processes, fewer when something urgent comes up, and keeps what concerns the one with the id
// child.
func waitSome(n, child int, urgent func() bool) (f found) {
	for i := range n {
		if i%reapCheck == reapCheck-1 && urgent() {
			return f
		}
		pid, status, errno := waitNow()
		if pid == 0 {
			f.drained, f.alone = true, errno == syscall.ECHILD
			return f
		}
		if pid == child {
			f.child = append(f.child, status)
			if !status.Stopped() && !status.Continued() {
				child = 0 // it is gone: whoever has this id now is somebody else
			}
		}
	}
	return f
}

// waitNow is wait4(2) without waiting, hence without telling Go's scheduler of it, for any child; pid is 0 when there
// is nothing.
func waitNow() (pid int, status syscall.WaitStatus, errno syscall.Errno) {
	var raw uint32
	r, _, errno := syscall.RawSyscall6(syscall.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&raw)),
		syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, 0, 0, 0)
	if errno != 0 {
		return 0, 0, errno
	}
	return int(r), syscall.WaitStatus(raw), 0
}

// childID is the child's process id, or 0, which no process has.
func (l *loop) childID() int {
	if l.child == nil {
		return 0
	}
	return l.child.pid
}

// changed notes what wait4 said about the child.
func (l *loop) changed(c *Child, status syscall.WaitStatus) {
	switch {
	case status.Stopped():
		c.stopped, c.stopReport = true, status.StopSignal()
	case status.Continued():
		c.stopped = false
	default:
		c.status = Status{wait: status, expired: c.expired}
		l.child, l.lastEnded = nil, c.cmd.Last
		l.tty.takeBack()
		close(c.done)
	}
}
