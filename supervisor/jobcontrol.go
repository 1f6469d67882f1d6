package supervisor

import (
	"os"
	"slices"
	"syscall"
	"time"

	"garm-entrypoint/supervisor/signals"
)

// Job control. A shell above us sees one process: us. So when the child stops, we stop as well, and when the shell
// continues us (fg, bg), we continue the child. A shell that brings us to the foreground while we run gives our group
// the terminal and says nothing (bash): we hand it on when we notice, which is when a key of the terminal sends us a
// signal, or when the child stops because it uses the terminal. Only a child that ignores SIGTTIN gets an error then
// (EIO). As PID 1, or with nobody above who could continue us, the child just stays stopped until somebody sends us
// SIGCONT.

// hangupDelay is how long after a SIGHUP we look for the terminal again: the exit of a session leader sends SIGHUP
// first and takes the terminal away a moment later (disassociate_ctty in the kernel's drivers/tty/tty_jobctrl.c).
const hangupDelay = 250 * time.Millisecond

func isJobControlStop(sig syscall.Signal) bool {
	return sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// isTerminalAccess reports whether the kernel sends sig to a background job that uses the terminal.
func isTerminalAccess(sig syscall.Signal) bool {
	return sig == syscall.SIGTTIN || sig == syscall.SIGTTOU
}

// isFromTerminal reports whether the kernel sends sig to the foreground group, for a key or a new window size.
func isFromTerminal(sig syscall.Signal) bool {
	return sig == syscall.SIGINT || sig == syscall.SIGQUIT || sig == syscall.SIGTSTP || sig == syscall.SIGWINCH
}

// forwardJobControlStop stops the child as the signal asks.
func (l *loop) forwardJobControlStop(c *Child, a signals.Arrived) {
	l.reap()
	if l.child != c {
		return
	}
	c.suspendUs = true
	if c.stopped {
		c.stopReport = a.Signal // there will be no second report
		return
	}
	c.stopInFlight = true
	if c.cmd.Terminal {
		l.forward(c, a)
		return
	}
	// A session without a terminal is an orphaned process group, in which the kernel discards these signals
	// (signal(7)).
	l.kill(c, syscall.SIGSTOP)
}

// forwardContinue continues the child. The terminal is handed over if it is ours: after fg, not after bg.
func (l *loop) forwardContinue(c *Child) {
	l.reap()
	if l.child != c {
		return
	}
	c.stopReport, c.stopInFlight, c.contOwed, c.suspendUs = 0, false, false, false
	if c.cmd.Terminal {
		l.tty.give(c.pid)
	}
	if c.stopped {
		l.wake(c)
	} else {
		l.kill(c, syscall.SIGCONT)
	}
}

// suspend acts on a stop that the child has reported.
func (l *loop) suspend(c *Child) {
	sig, forwarded := c.stopReport, c.suspendUs
	c.stopReport, c.stopInFlight, c.suspendUs = 0, false, false
	switch {
	case c.contOwed:
		c.contOwed = false
		l.wake(c)
		return
	case !forwarded && c.cmd.Terminal && isTerminalAccess(sig) && l.tty.give(c.pid):
		l.wake(c)
		return
	case !forwarded && !l.tty.given && !(c.cmd.Terminal && isTerminalAccess(sig)):
		return // somebody stopped the child itself: that is not about us
	case l.init || !resumable():
		l.log.warn("the child is stopped, and no shell above can continue it: send SIGCONT", "pid", c.pid, "signal", signalName(sig))
		return
	}
	wasForeground := l.tty.takeBack()
	if !forwarded && (wasForeground && isJobControlStop(sig) || isTerminalAccess(sig)) {
		// The kernel stopped the child's group only. Without us it would have stopped the rest of our job as well.
		l.trap.IgnoreWhile([]syscall.Signal{sig}, func() { _ = syscall.Kill(0, sig) })
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
}

// hungUp reports whether a SIGHUP means that our terminal is gone. Under nohup it never does, and as PID 1 the terminal
// is the engine's.
func (l *loop) hungUp() bool {
	return !l.init && !slices.Contains(l.trap.Ignored, syscall.SIGHUP) && l.tty.gone()
}

// checkHangup looks for the terminal again after a SIGHUP that was forwarded as such.
func (l *loop) checkHangup() {
	if !l.hungUp() {
		return
	}
	l.noteStop(syscall.SIGHUP)
	if c := l.child; c != nil && !c.cmd.Terminal {
		l.deliverStop(c, signals.Arrived{Signal: syscall.SIGHUP})
	}
}
