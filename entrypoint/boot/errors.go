package boot

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// SoftwareError is a failure on our side or the system's that no configuration cures.
type SoftwareError struct{ err error }

func (e *SoftwareError) Error() string { return e.err.Error() }

// Unwrap is the cause.
func (e *SoftwareError) Unwrap() error { return e.err }

// ExitCode is EX_SOFTWARE of sysexits(3).
func (e *SoftwareError) ExitCode() int { return 70 }

// StoppedError says that a signal ended what was going on.
type StoppedError struct {
	// Signal that asked us to stop.
	Signal syscall.Signal
}

// ExitCode is 128+N, as a shell would report it.
func (e *StoppedError) ExitCode() int { return 128 + int(e.Signal) }

func (e *StoppedError) Error() string { return "stopped by " + unix.SignalName(e.Signal) }
