package supervisor

import (
	"syscall"
)

// reapBatch bounds one pass, so that signals are forwarded also while orphans die faster than we can reap them.
const reapBatch = 1024

// reap collects every status that is ready. SIGCHLD is merged by the kernel and by us, so it only means "look again".
func (l *loop) reap() {
	l.ending.alone = false
	for range reapBatch {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG|syscall.WUNTRACED|syscall.WCONTINUED, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid == 0 {
			l.ending.alone = err == syscall.ECHILD
			return
		}
		if c := l.child; c != nil && pid == c.pid {
			l.changed(c, status)
		}
	}
	select { // more may be ready: come back after the signals
	case l.children <- syscall.SIGCHLD:
	default:
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
