package supervisor

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killInterval is how often the tree is searched again while it is being killed: orphans of the killed come to us only then.
	killInterval = 20 * time.Millisecond
	// killLimit is how long we wait for killed processes, which may hang in the kernel (state D).
	killLimit = 5 * time.Second
)

// ending is the state of Close.
type ending struct {
	phase  phase
	grace  time.Duration
	alone  bool      // the last wait4 found no children at all
	next   time.Time // when to go on
	giveUp time.Time
	done   bool
}

type phase int

const (
	notEnding phase = iota
	terminate
	waitGrace
	kill
)

func (e *ending) active() bool { return e.phase != notEnding }

func (l *loop) close() {
	if l.ending.active() {
		return
	}
	l.ending.phase = terminate
	l.reap()
	l.endLeftovers()
}

// endLeftovers goes on with Close: whenever children have died, and whenever a deadline has passed.
func (l *loop) endLeftovers() {
	e, now := &l.ending, time.Now()
	if e.alone {
		e.done = true
		return
	}
	switch e.phase {
	case terminate:
		l.signalTree(syscall.SIGTERM, syscall.SIGCONT) // a stopped process could not act on SIGTERM
		e.phase, e.next = waitGrace, now.Add(e.grace)
	case waitGrace:
		if now.Before(e.next) {
			return
		}
		l.log.warn("processes that the child left behind did not end on SIGTERM and are killed", "grace", e.grace)
		e.phase, e.giveUp = kill, now.Add(killLimit)
		fallthrough
	case kill:
		if now.After(e.giveUp) {
			l.log.warn("cannot end all processes that the child left behind: some do not react to SIGKILL")
			e.done = true
			return
		}
		l.signalTree(syscall.SIGKILL)
		e.next = now.Add(killInterval)
	}
}

// signalTree signals every process below us. As PID 1 that is everybody in the namespace, `docker exec` sessions included, which end
// with us in any case; the kernel spares the caller (kill(2)). Otherwise it is who descends from us by /proc.
func (l *loop) signalTree(sigs ...syscall.Signal) {
	if l.init {
		for _, sig := range sigs {
			_ = syscall.Kill(-1, sig) // ESRCH: nobody; EPERM: nobody we may signal
		}
		return
	}
	tree, err := descendants()
	if err != nil {
		if l.child != nil {
			for _, sig := range sigs {
				l.kill(l.child, sig)
			}
			return
		}
		l.log.warn("cannot end the processes that the child left behind: they cannot be found without /proc; mount it, or run this as PID 1",
			"error", err)
		l.ending.done = true
		return
	}
	for _, p := range tree {
		p.signal(sigs...)
	}
}

// signal signals a process found in /proc. A child of ours keeps its id until we reap it; another one may be gone and its id recycled,
// so it is held by a pidfd and looked at again, where the kernel has them (5.3, and a seccomp profile that lets us).
func (p process) signal(sigs ...syscall.Signal) {
	fd, err := unix.PidfdOpen(p.id, 0)
	if err == unix.ESRCH {
		return
	}
	send := func(sig syscall.Signal) error { return syscall.Kill(p.id, sig) }
	if err == nil {
		defer unix.Close(fd)
		send = func(sig syscall.Signal) error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
	}
	if now, err := readProcess(p.id); err != nil || now.started != p.started {
		return
	}
	for _, sig := range sigs {
		_ = send(sig) // ESRCH: gone; EPERM: the log says at the end that something is left
	}
}
