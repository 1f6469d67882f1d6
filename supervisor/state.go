package supervisor

import (
	"sync"
	"syscall"
	"time"

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
