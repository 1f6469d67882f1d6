package supervisor

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Status says how a child ended.
type Status struct {
	wait    syscall.WaitStatus
	expired bool
}

// Code is the exit status that a shell would report: the child's own, or 128+N when signal N ended it.
func (s Status) Code() int {
	if s.wait.Signaled() {
		return 128 + int(s.wait.Signal())
	}
	return s.wait.ExitStatus()
}

// Signal is the signal that ended the child, or 0.
func (s Status) Signal() syscall.Signal {
	if s.wait.Signaled() {
		return s.wait.Signal()
	}
	return 0
}

// CoreDump reports whether the child left a core dump.
func (s Status) CoreDump() bool { return s.wait.CoreDump() }

// TimedOut reports whether the child was killed because it had not ended within its StopTimeout.
func (s Status) TimedOut() bool { return s.expired && s.Signal() == syscall.SIGKILL }

// String is for the log: "exit status 3", "SIGSEGV (core dumped)", "SIGKILL after the stop timeout".
func (s Status) String() string {
	if !s.wait.Signaled() {
		return "exit status " + strconv.Itoa(s.wait.ExitStatus())
	}
	text := signalName(s.wait.Signal())
	if s.CoreDump() {
		text += " (core dumped)"
	}
	if s.TimedOut() {
		text += " after the stop timeout"
	}
	return text
}

// signalName is the name that kill -l prints, or "signal 35" for the real-time ones.
func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}
