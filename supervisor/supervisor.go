package supervisor

import (
	"log/slog"
	"os"
	"sync"
	"syscall"
	"time"

	"garm-entrypoint/supervisor/signals"
	"garm-entrypoint/supervisor/threads"

	"golang.org/x/sys/unix"
)

// MinPids is the least pids limit (docker run --pids-limit) under which a supervisor runs; what the child needs comes
// on top.
const MinPids = threads.Max

// DefaultGrace is the time that the leftovers of a child have between SIGTERM and SIGKILL.
const DefaultGrace = 2 * time.Second

// Options of New.
type Options struct {
	// Logger gets what the user should know. It is called from a goroutine of its own and may block: then lines are
	// dropped, not signals. nil: nothing is logged.
	Logger *slog.Logger
	// Signals are the ones to forward: sigtrap.Signals in a program. nil: they are taken now.
	Signals *signals.Trap
	// Grace is the time between SIGTERM and SIGKILL for what is left of the child's tree at Close. 0: DefaultGrace.
	Grace time.Duration
}

// Supervisor starts children, one at a time, and looks after them and their orphans.
type Supervisor struct {
	loop   *loop
	closed sync.Once
}

// New starts the loop. Unless we are PID 1 it makes this process the subreaper of its descendants, so that their
// orphans come to us and not to a PID 1 that may not care (prctl(2), PR_SET_CHILD_SUBREAPER); where the kernel refuses,
// it logs a warning.
//
// It also creates the threads that we may ever need (see package threads; who calls its Reserve first says how many)
// and fixes GOMAXPROCS at 2 or less.
func New(opts Options) (*Supervisor, error) {
	threads.Reserve(threads.Busy)
	l, err := newLoop(opts)
	if err != nil {
		return nil, err
	}
	if !l.init {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			l.log.warn("cannot adopt orphans: the kernel refused to make us their reaper; run this as PID 1", "error", err)
		}
	}
	l.start()
	return &Supervisor{loop: l}, nil
}

// newLoop takes the signals and the terminal; nothing runs yet.
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

// Start starts a child and returns once it is executing. Signals that arrived before are delivered to it.
//
// Errors: *StopRequestedError when a stop signal has arrived, *StartError when the program cannot be executed,
// ErrRunning, ErrClosed.
func (s *Supervisor) Start(cmd Command) (*Child, error) {
	var child *Child
	err := ErrClosed
	s.loop.do(func() { child, err = s.loop.startChild(cmd) })
	return child, err
}

// StopRequested is closed at the first stop signal that we received: SIGTERM, SIGINT or SIGQUIT, or the SIGHUP of a
// terminal that is gone. (As PID 1 there is nobody who could take the terminal away but the engine, which sends
// SIGTERM.)
func (s *Supervisor) StopRequested() <-chan struct{} { return s.loop.stopRequested }

// StopSignal is the signal that closed StopRequested, or 0.
func (s *Supervisor) StopSignal() syscall.Signal {
	select {
	case <-s.loop.stopRequested:
		return s.loop.stopSignal
	default:
		return 0
	}
}

// Close ends what is left: all remaining processes below us, also those that left the child's group or session, get
// SIGTERM, after the grace SIGKILL, and are reaped. The terminal is given back. Close returns when nothing is left, at
// the latest 5 s after the SIGKILL, with a line in the log if something could not be ended.
//
// It sends the child SIGTERM too if it is still running; Stop it and wait for Done first to give it its own time.
func (s *Supervisor) Close() {
	s.loop.do(s.loop.close)
	<-s.loop.ended
	s.closed.Do(s.loop.log.close)
}

// isInit reports whether we are PID 1 of our namespace.
func isInit() bool { return os.Getpid() == 1 }
