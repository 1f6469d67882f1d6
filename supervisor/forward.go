package supervisor

import (
	"slices"
	"syscall"
	"time"
)

// received handles a signal that was sent to us.
func (l *loop) received(sig syscall.Signal) {
	stop := isStopSignal(sig) || sig == syscall.SIGHUP && l.hungUp()
	if stop {
		l.noteStop(sig)
	} else if sig == syscall.SIGHUP && l.tty.fd >= 0 {
		l.hangupCheck = time.Now().Add(hangupDelay)
	}
	switch c := l.child; {
	case c == nil && !stop:
		l.keep(sig)
	case c == nil:
	case stop:
		l.deliverStop(c, sig)
	default:
		l.deliver(c, sig)
	}
}

func isStopSignal(sig syscall.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGQUIT
}

// noteStop notes that we were asked to stop.
func (l *loop) noteStop(sig syscall.Signal) {
	select {
	case <-l.stopRequested:
	default:
		l.stopSignal = sig
		close(l.stopRequested)
	}
}

// keep saves a signal for the next child, once per kind. As in the kernel, SIGCONT and the stops cancel each other (signal(7)).
func (l *loop) keep(sig syscall.Signal) {
	l.pending = slices.DeleteFunc(l.pending, func(p syscall.Signal) bool {
		return p == sig || sig == syscall.SIGCONT && isJobControlStop(p) || p == syscall.SIGCONT && isJobControlStop(sig)
	})
	l.pending = append(l.pending, sig)
}

// deliver forwards a signal that does not ask the child to end.
func (l *loop) deliver(c *Child, sig syscall.Signal) {
	switch {
	case c.holds(sig):
	case isJobControlStop(sig):
		l.forwardJobControlStop(c, sig)
	case sig == syscall.SIGCONT:
		l.forwardContinue(c)
	default:
		l.kill(c, sig)
	}
}

// deliverStop asks the child to end and starts its StopTimeout. A stopped child is continued, because it could not act otherwise.
func (l *loop) deliverStop(c *Child, sig syscall.Signal) {
	l.reap() // is it alive, is it stopped?
	if l.child != c {
		return
	}
	if sig == syscall.SIGHUP && !c.cmd.Terminal {
		sig = syscall.SIGTERM // SIGHUP means something else to a server
	}
	if c.cmd.StopTimeout > 0 && c.killAt.IsZero() && !c.expired {
		c.killAt = time.Now().Add(c.cmd.StopTimeout)
	}
	l.kill(c, sig)
	if c.stopped {
		c.stopReport = 0
		l.wake(c)
	} else if c.stopInFlight {
		c.contOwed = true
	}
}

// killOverdue ends a child that has used up its StopTimeout.
func (l *loop) killOverdue(c *Child) {
	c.killAt = time.Time{}
	l.reap()
	if l.child != c {
		return
	}
	c.expired = true
	l.log.warn("the child did not end in time and is killed; raise the stop timeout if it needs longer",
		"pid", c.pid, "timeout", c.cmd.StopTimeout)
	l.kill(c, syscall.SIGKILL)
}

// release delivers what Hold has kept back.
func (l *loop) release(c *Child) {
	c.holding, c.holdUntil = false, time.Time{}
	held := c.held
	c.held = nil
	if l.child != c {
		return
	}
	for _, sig := range held {
		l.deliver(c, sig)
	}
}

// kill sends sig to the child alone, but for the keys of the terminal that were meant for its group. The child has not been reaped (only
// we could have), so its id is still its own.
func (l *loop) kill(c *Child, sig syscall.Signal) {
	if c.cmd.Terminal && isFromTerminal(sig) && l.tty.give(c.pid) && syscall.Kill(-c.pid, sig) == nil {
		return
	}
	if err := syscall.Kill(c.pid, sig); err != nil {
		l.log.warn("cannot forward "+signalName(sig)+" to the child: does it run as another user?", "pid", c.pid, "error", err)
	}
}

// wake continues a stopped child, and in the terminal its whole group, as a shell does.
func (l *loop) wake(c *Child) {
	if c.cmd.Terminal && syscall.Kill(-c.pid, syscall.SIGCONT) == nil {
		return
	}
	l.kill(c, syscall.SIGCONT)
}
