package supervisor

import (
	"errors"
	"syscall"
)

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("cannot start a child: the supervisor is closed")

// ErrRunning is returned by Start while another child lives.
var ErrRunning = errors.New("cannot start a child: another one is running")

// StopRequestedError says that no child was started because we had been asked to stop.
type StopRequestedError struct {
	Signal syscall.Signal
}

func (e *StopRequestedError) Error() string {
	return "not started: asked to stop by " + signalName(e.Signal)
}

// ExitCode is 128 plus the number of the signal, as if it had ended the child.
func (e *StopRequestedError) ExitCode() int { return 128 + int(e.Signal) }
