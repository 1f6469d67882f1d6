package supervisor

import (
	"runtime"
	"sync"
	"syscall"
	"time"

	"garm-entrypoint/supervisor/mainthread"
	"garm-entrypoint/supervisor/signals"
)

// loop owns all state: it receives, reaps, kills, forks and keeps the deadlines. It has a thread to itself, on which it
// waits in the kernel for signals, as an init in C does: whatever comes in wakes that thread and no other. It is the
// main thread, where the program lets us have it, which is also the best one to reap orphans on. Children are forked on
// it, because the parent-death signal is sent when the forking thread ends (golang.org/issue/27505); and terminal calls
// are made on it, because they need a signal blocked in their thread.
type loop struct {
	log  *logQueue
	init bool // we are PID 1
	tty  *terminal

	trap     *signals.Trap
	requests requests
	ended    chan struct{}

	child   *Child            // the one that runs, or nil
	pending []signals.Arrived // arrived while there was none

	lastEnded bool // a child that is the last one
	reapAgain bool // the last pass left some

	stopRequested chan struct{}
	stopSignal    syscall.Signal // written before stopRequested is closed

	hangupCheck time.Time // when to look again whether the terminal is gone

	ending ending // what Close is doing

	awakeBy time.Time // when to wake whatever happens; zero: never
}

func newLoop(opts Options) (*loop, error) {
	trap := opts.Signals
	if trap == nil {
		trap = signals.Take()
	}
	if err := trap.Err(); err != nil {
		return nil, err
	}
	grace := opts.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	return &loop{
		log:           newLogQueue(opts.Logger),
		init:          isInit(),
		tty:           openTerminal(),
		trap:          trap,
		ended:         make(chan struct{}),
		stopRequested: make(chan struct{}),
		ending:        ending{grace: grace},
	}, nil
}

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

func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

// requests are what other goroutines want done in the loop.
type requests struct {
	mu    sync.Mutex
	queue []func()
}

func (r *requests) add(request func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, request)
}

func (r *requests) waiting() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue) > 0
}

func (r *requests) next() func() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil
	}
	request := r.queue[0]
	r.queue = r.queue[1:]
	return request
}

// do runs f in the loop and waits for it. After the loop has ended it does nothing.
func (l *loop) do(f func()) {
	done := make(chan struct{})
	l.requests.add(func() { f(); close(done) })
	l.trap.Wake()
	select {
	case <-done:
	case <-l.ended:
	}
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
