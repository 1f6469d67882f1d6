package supervisor

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killInterval is how often the tree is searched again while it is being killed: orphans of the killed come to us
	// only then.
	killInterval = 20 * time.Millisecond
	// searchInterval is how often, during the grace, the tree is searched for processes that were being forked when the
	// others got their SIGTERM.
	searchInterval = 100 * time.Millisecond
	// killLimit is how long we wait for killed processes, which may hang in the kernel (state D).
	killLimit = 5 * time.Second
)

// ending is the state of Close.
type ending struct {
	phase  phase
	grace  time.Duration
	alone  bool      // the last wait4 found no children at all
	next   time.Time // when to go on
	killAt time.Time
	giveUp time.Time
	asked  map[process]bool // those that have got SIGTERM
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
		e.phase, e.killAt, e.asked = waitGrace, now.Add(e.grace), make(map[process]bool)
		l.terminateTree()
	case waitGrace:
		if now.Before(e.next) {
			return // woken by the death of one of many
		}
		if now.Before(e.killAt) {
			l.terminateTree()
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
		l.killTree()
		e.next = now.Add(killInterval)
	}
}

// terminateTree asks every process below us to end, once. SIGCONT comes after SIGTERM, on which a stopped process could
// not act.
//
// As PID 1 that is everybody in the namespace, `docker exec` sessions included, which end with us in any case; the
// kernel spares the caller (kill(2)), and misses nobody who is just being forked. Otherwise it is who descends from us
// by /proc.
func (l *loop) terminateTree() {
	e := &l.ending
	if l.init {
		if e.next.IsZero() {
			_ = syscall.Kill(-1, syscall.SIGTERM) // ESRCH: nobody; EPERM: nobody we may signal
			_ = syscall.Kill(-1, syscall.SIGCONT)
		}
		e.next = e.killAt
		return
	}
	for _, p := range l.findTree() {
		if !e.asked[p.identity()] {
			e.asked[p.identity()] = true
			p.signal(syscall.SIGTERM, syscall.SIGCONT)
		}
	}
	e.next = time.Now().Add(searchInterval)
	if e.next.After(e.killAt) {
		e.next = e.killAt
	}
}

// killTree kills every process below us.
func (l *loop) killTree() {
	if l.init {
		_ = syscall.Kill(-1, syscall.SIGKILL)
		return
	}
	for _, p := range l.findTree() {
		p.signal(syscall.SIGKILL)
	}
}

// findTree lists the processes below us. Without /proc it can only list the child; when that has gone, Close gives up
// and says so.
func (l *loop) findTree() []process {
	tree, err := descendants()
	if err == nil {
		return tree
	}
	if l.child != nil {
		return []process{{id: l.child.pid, parent: os.Getpid()}}
	}
	l.log.warn("cannot end the processes that the child left behind: they cannot be found without /proc; mount it, or run this as PID 1",
		"error", err)
	l.ending.done = true
	return nil
}

// signal signals a process found in /proc. A child of ours keeps its id until we reap it. Another one may have gone by
// now and its id been recycled, so it is held by a pidfd and looked at again, where the kernel has them (Linux 5.3, and
// a seccomp profile that lets us).
func (p process) signal(sigs ...syscall.Signal) {
	send := func(sig syscall.Signal) error { return syscall.Kill(p.id, sig) }
	if p.parent != os.Getpid() {
		if fd, err := unix.PidfdOpen(p.id, 0); err == nil {
			defer unix.Close(fd)
			send = func(sig syscall.Signal) error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
		}
		if now, err := readProcess(p.id); err != nil || now.started != p.started {
			return
		}
	}
	for _, sig := range sigs {
		_ = send(sig) // ESRCH: gone; EPERM: the log says at the end that something is left
	}
}
