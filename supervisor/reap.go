package supervisor

import (
	"syscall"
)

const (
	// reapBatch bounds one pass, also while orphans die faster than we can reap them: some 100 ms.
	reapBatch = 1 << 14
	// reapCheck is how many are reaped until the next look for signals, which come first.
	reapCheck = 64
	// reapHere is how many are reaped on the loop's own thread before the main thread is asked, which takes two switches.
	reapHere = 8
)

// reap collects every status that is ready. SIGCHLD is merged by the kernel and by us, so it only means "look again".
func (l *loop) reap() {
	found := l.collect(reapHere)
	if !found.drained && l.fork.main {
		l.fork.do(func() { found = waitSome(reapBatch, l.childID(), l.urgent) })
		l.note(found)
	} else if !found.drained {
		found = l.collect(reapBatch)
	}
	l.ending.alone = found.alone
	if !found.drained {
		select { // more may be ready: come back after the signals
		case l.children <- syscall.SIGCHLD:
		default:
		}
	}
}

// collect reaps up to n on this thread.
func (l *loop) collect(n int) found {
	found := waitSome(n, l.childID(), l.urgent)
	l.note(found)
	return found
}

// found is what waitSome came to know.
type found struct {
	child   []syscall.WaitStatus // what wait4 said about the child, in order
	drained bool                 // nothing more is ready
	alone   bool                 // there are no children at all
}

// urgent reports that something else waits for the loop. It may be called on any thread.
func (l *loop) urgent() bool { return len(l.trap.Stops) > 0 || len(l.trap.Others) > 0 }

// waitSome reaps up to n processes, fewer when something urgent comes up, and keeps what concerns the one with the id child.
func waitSome(n, child int, urgent func() bool) (f found) {
	for i := range n {
		if i%reapCheck == reapCheck-1 && urgent() {
			return f
		}
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			f.drained, f.alone = true, err == syscall.ECHILD
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

// childID is the child's process id, or 0, which no process has.
func (l *loop) childID() int {
	if l.child == nil {
		return 0
	}
	return l.child.pid
}

// note acts on what was found about the child.
func (l *loop) note(f found) {
	for _, status := range f.child {
		l.changed(l.child, status)
	}
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
		l.child = nil
		l.tty.takeBack()
		close(c.done)
	}
}
