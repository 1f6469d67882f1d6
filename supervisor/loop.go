package supervisor

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"garm-entrypoint/supervisor/signals"
)

// loop is the one goroutine that owns all state: it receives, reaps, kills, forks and keeps the timers.
type loop struct {
	log  *logQueue
	init bool // we are PID 1
	tty  *terminal
	fork *forker

	trap     *signals.Trap
	children chan os.Signal // SIGCHLD, merged: "look again"
	requests chan func()
	ended    chan struct{}

	child   *Child           // the one that runs, or nil
	pending []syscall.Signal // arrived while there was none

	stopRequested chan struct{}
	stopSignal    syscall.Signal // written before stopRequested is closed

	hangupCheck time.Time // when to look again whether the terminal is gone

	ending ending // what Close is doing

	timer   *time.Timer
	awakeBy time.Time // when the timer fires; zero: it is off
}

func newLoop(opts Options) (*loop, error) {
	trap := opts.Signals
	if trap == nil {
		trap = &signals.Trap{} // nil channels: nothing ever arrives
	} else {
		<-trap.Ready
	}
	grace := opts.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	l := &loop{
		log:           newLogQueue(opts.Logger),
		init:          isInit(),
		fork:          newForker(),
		trap:          trap,
		children:      make(chan os.Signal, 1),
		requests:      make(chan func()),
		ended:         make(chan struct{}),
		stopRequested: make(chan struct{}),
		ending:        ending{grace: grace},
		timer:         time.NewTimer(time.Hour),
	}
	l.timer.Stop()
	l.tty = openTerminal(l.fork)
	signal.Notify(l.children, syscall.SIGCHLD)
	return l, nil
}

func (l *loop) run() {
	l.reap() // what we were started with may have died already
	for !l.ending.done {
		event := l.next()
		l.skipPause()
		event()
		l.arm()
		if c := l.child; c != nil && c.stopReport != 0 {
			l.suspend(c) // comes back after the pause that it may make of us, hence after arm
		}
	}
	// A program ends now, and need not wait until the rest is given back, which switches between threads a dozen times.
	close(l.ended)
	signal.Stop(l.children)
	l.tty.close()
	l.fork.close()
}

// next waits for something to do.
func (l *loop) next() func() {
	select {
	case sig := <-l.trap.Stops:
		return func() { l.received(sig.(syscall.Signal)) }
	case sig := <-l.trap.Others:
		return func() { l.received(sig.(syscall.Signal)) }
	case <-l.children:
		return l.childrenChanged
	case <-l.timer.C:
		return func() { l.expired(time.Now()) }
	case request := <-l.requests:
		return request
	}
}

// childrenChanged acts on SIGCHLD.
func (l *loop) childrenChanged() {
	l.reap()
	if l.ending.active() {
		l.endLeftovers()
	}
}

// do runs f in the loop and waits for it. After the loop has ended it does nothing.
func (l *loop) do(f func()) {
	done := make(chan struct{})
	select {
	case l.requests <- func() { f(); close(done) }:
		<-done
	case <-l.ended:
	}
}

// expired does what is due.
func (l *loop) expired(now time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	if c := l.child; c != nil {
		if due(c.holdUntil) {
			l.release(c)
		}
		if due(c.killAt) {
			l.killOverdue(c)
		}
	}
	if due(l.hangupCheck) {
		l.hangupCheck = time.Time{}
		l.checkHangup()
	}
	if due(l.ending.next) {
		l.reap()
		l.endLeftovers()
	}
}

// arm sets the timer to the earliest deadline, or earlier: see skipPause. Without a deadline it stays off: an idle supervisor never
// wakes up.
func (l *loop) arm() {
	deadlines := []time.Time{l.hangupCheck, l.ending.next}
	if l.child != nil {
		deadlines = append(deadlines, l.child.holdUntil, l.child.killAt)
	}
	var next time.Time
	for _, t := range deadlines {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if next.IsZero() {
		l.timer.Stop()
		l.awakeBy = time.Time{}
		return
	}
	if look := time.Now().Add(awakeInterval); look.Before(next) {
		next = look
	}
	l.timer.Reset(time.Until(next))
	l.awakeBy = next
}
