package supervisor

import (
	"slices"
	"syscall"
	"time"

	"garm-entrypoint/supervisor/signals"
)

// received handles a signal that was sent to us.
func (l *loop) received(a signals.Arrived) {
	sig := a.Signal
	stop := isStopSignal(sig) || sig == syscall.SIGHUP && l.hungUp()
	if stop {
		l.noteStop(sig)
	} else if sig == syscall.SIGHUP && l.tty.fd >= 0 {
		l.hangupCheck = time.Now().Add(hangupDelay)
	}
	switch c := l.child; {
	case c == nil && !stop:
		l.keep(a)
	case c == nil:
	case stop:
		l.deliverStop(c, a)
	default:
		l.deliver(c, a)
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

// keep saves a signal for the next child, once per kind. As in the kernel, SIGCONT and the stops cancel each other
// (signal(7)).
func (l *loop) keep(a signals.Arrived) {
	sig := a.Signal
	l.pending = slices.DeleteFunc(l.pending, func(kept signals.Arrived) bool {
		p := kept.Signal
		return p == sig || sig == syscall.SIGCONT && isJobControlStop(p) || p == syscall.SIGCONT && isJobControlStop(sig)
	})
	l.pending = append(l.pending, a)
}

// deliver forwards a signal that does not ask the child to end.
func (l *loop) deliver(c *Child, a signals.Arrived) {
	switch sig := a.Signal; {
	case c.holds(sig):
	case isJobControlStop(sig):
		l.forwardJobControlStop(c, a)
	case sig == syscall.SIGCONT:
		l.forwardContinue(c)
	default:
		l.forward(c, a)
	}
}

// deliverStop asks the child to end and starts its StopTimeout. A stopped child is continued, because it could not act
// otherwise.
func (l *loop) deliverStop(c *Child, a signals.Arrived) {
	l.reap() // is it alive, is it stopped?
	if l.child != c {
		return
	}
	if a.Signal == syscall.SIGHUP && !c.cmd.Terminal {
		a.Signal = syscall.SIGTERM // SIGHUP means something else to a server
	}
	if c.cmd.StopTimeout > 0 && c.killAt.IsZero() && !c.expired {
		c.killAt = time.Now().Add(c.cmd.StopTimeout)
	}
	l.forward(c, a)
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
		l.deliver(c, signals.Arrived{Signal: sig})
	}
}

// forward sends the child what we got. A key of the terminal that came to our group was meant for the child's: it had
// the terminal, had we been told that we are in the foreground (see jobcontrol.go).
func (l *loop) forward(c *Child, a signals.Arrived) {
	if c.cmd.Terminal && a.FromKernel && isFromTerminal(a.Signal) {
		l.tty.give(c.pid)
		if syscall.Kill(-c.pid, a.Signal) == nil {
			return
		}
	}
	l.kill(c, a.Signal)
}

// kill sends sig to the child alone. It has not been reaped (only we could have), so its id is still its own.
func (l *loop) kill(c *Child, sig syscall.Signal) {
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
