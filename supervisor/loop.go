package supervisor

import (
	"runtime"
	"time"

	"garm-entrypoint/supervisor/mainthread"
)

// start runs the loop on its thread.
func (l *loop) start() {
	if main := mainthread.Work(); main != nil {
		main <- l.run
		return
	}
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		l.run()
	}()
}

func (l *loop) run() {
	sources := []func() (event func()){l.nextSignal, l.nextDeath, l.requests.next, l.nextDeadline}
	l.reap() // what we were started with may have died already
	for !l.ending.done {
		if !l.reapAgain && !l.requests.waiting() {
			l.trap.Wait(l.awakeBy)
		}
		for _, next := range sources { // one of each, so that no flood of one kind keeps the others waiting
			if event := next(); event != nil {
				l.handle(event)
			}
		}
	}
	close(l.ended)
	l.tty.close()
}

func (l *loop) handle(event func()) {
	l.skipPause()
	event()
	if l.lastEnded {
		l.close()
	}
	if l.ending.active() && l.ending.alone { // found by whoever reaped
		l.ending.done = true
	}
	l.arm()
	if c := l.child; c != nil && c.stopReport != 0 {
		l.suspend(c) // comes back after the pause that it may make of us, hence after arm
	}
}

// nextSignal handles the signal that has waited longest.
func (l *loop) nextSignal() func() {
	next, ok := l.trap.Next()
	if !ok {
		return nil
	}
	return func() { l.received(next) }
}

// nextDeath reaps when something may have died.
func (l *loop) nextDeath() func() {
	if !l.reapAgain && !l.trap.Children() {
		return nil
	}
	return func() {
		l.reap()
		if l.ending.active() {
			l.endLeftovers()
		}
	}
}

// nextDeadline does what is due.
func (l *loop) nextDeadline() func() {
	now := time.Now()
	if !due(l.awakeBy, now) {
		return nil
	}
	return func() { l.expired(now) }
}

// expired does what is due.
func (l *loop) expired(now time.Time) {
	if c := l.child; c != nil {
		if due(c.holdUntil, now) {
			l.release(c)
		}
		if due(c.killAt, now) {
			l.killOverdue(c)
		}
	}
	if due(l.hangupCheck, now) {
		l.hangupCheck = time.Time{}
		l.checkHangup()
	}
	if due(l.ending.next, now) {
		l.reap()
		l.endLeftovers()
	}
}

// arm sets the time to wake to the earliest deadline, or earlier: see skipPause. Without a deadline there is none: an
// idle supervisor never wakes up.
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
	if look := time.Now().Add(awakeInterval); look.Before(next) {
		next = look
	}
	l.awakeBy = next
}
