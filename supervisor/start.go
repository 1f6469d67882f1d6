package supervisor

import (
	"syscall"
	"time"
)

// startChild forks and executes the child. It runs in the loop, so no signal can come between the fork and the moment
// we know the pid: what arrives meanwhile waits in the trap.
func (l *loop) startChild(cmd Command) (*Child, error) {
	if l.child != nil {
		return nil, ErrRunning
	}
	if l.ending.active() {
		return nil, ErrClosed
	}
	l.receiveReady()
	select {
	case <-l.stopRequested:
		return nil, &StopRequestedError{Signal: l.stopSignal}
	default:
	}
	pid, err := l.forkExec(cmd)
	if err != nil {
		return nil, startError(cmd.Path, err)
	}
	c := &Child{loop: l, cmd: cmd, pid: pid, holding: len(cmd.Hold) > 0, done: make(chan struct{})}
	if c.holding && cmd.HoldFor > 0 {
		c.holdUntil = time.Now().Add(cmd.HoldFor)
	}
	l.child = c
	pending := l.pending
	l.pending = nil
	for _, sig := range pending {
		l.deliver(c, sig)
	}
	return c, nil
}

// receiveReady handles the signals that have arrived already: a stop signal must win over a start.
func (l *loop) receiveReady() {
	l.trap.Waiting() // receives what the handlers have told of
	for next, ok := l.trap.Next(); ok; next, ok = l.trap.Next() {
		l.received(next)
	}
}

// forkExec arranges what only the moment of the fork can: umask, ignored signals, session or foreground.
func (l *loop) forkExec(cmd Command) (pid int, err error) {
	files := []uintptr{0, 1, 2}
	for _, f := range cmd.Files {
		files = append(files, f.Fd())
	}
	attr := &syscall.ProcAttr{Env: cmd.Env, Files: files, Sys: &syscall.SysProcAttr{}}
	if cmd.Terminal {
		attr.Sys.Setpgid = true
	} else {
		attr.Sys.Setsid = true
	}
	if !l.init {
		// Our death takes the child along. Package syscall closes the race with a parent that dies before the child has
		// asked for it.
		attr.Sys.Pdeathsig = syscall.SIGKILL
	}
	l.trap.IgnoreWhile(l.trap.Ignored, func() {
		if cmd.Umask >= 0 {
			defer syscall.Umask(syscall.Umask(cmd.Umask))
		}
		if cmd.Terminal && l.tty.foreground() {
			pid, err = l.tty.forkForeground(cmd.Path, cmd.Args, attr)
			return
		}
		pid, err = syscall.ForkExec(cmd.Path, cmd.Args, attr)
	})
	return pid, err
}
