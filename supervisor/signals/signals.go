// Package signals takes the signals sent to this process and keeps them until the supervisor forwards them.
//
// It imports as little as possible, because package sigtrap runs it during package initialisation. Only Linux is supported.
package signals

import (
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// last is the highest signal number of Linux on every architecture that Go supports but MIPS.
const last = 64

// Trap is where the signals arrive. Signals of one kind that arrive in a burst may be merged, as the kernel merges the standard
// ones; Go's runtime merges the real-time ones too. No order is kept between kinds.
type Trap struct {
	// Stops carries SIGTERM, SIGINT, SIGQUIT and SIGHUP. They have a channel of their own so that a flood of others cannot evict them.
	Stops chan os.Signal
	// Others carries the rest, but for the ones listed at Take.
	Others chan os.Signal
	// Ignored lists the signals that were ignored when the process started, of those of which Go lets us know (see Take).
	Ignored []syscall.Signal
	// Ready is closed when all signals have been taken. Until then the ones for Others may do what Go does with them by default.
	Ready chan struct{}
}

// keptByGo are the signals whose disposition Go leaves alone until they are taken (runtime/sigtab_linux_generic.go, _SigDefault),
// together with SIGHUP and SIGINT, for which it respects SIG_IGN (os/signal, "Default behavior of signals in Go programs").
// Whether any other signal was ignored is lost before the first line of a Go program runs.
var keptByGo = [...]syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU,
}

// Take takes every signal that a Go program can catch, except
//   - SIGCHLD, which means "reap" and is never forwarded,
//   - SIGURG, which the Go runtime sends to its own threads to preempt them (golang.org/issue/37942),
//   - SIGPROF and 32 to 34, which the runtime keeps for itself: SIGPROF and 33 vanish; 32 and 34, sent by kill, end this process unless
//     it is PID 1, as they would any Go program.
//
// Faults of our own (SIGSEGV and the like) remain Go panics; the same signals sent by kill arrive here.
//
// The stop signals are taken when Take returns. Each of the others costs the runtime two switches between threads, together about a
// millisecond, so they are taken while the program goes on with its initialisation.
func Take() *Trap {
	t := &Trap{
		Stops:  make(chan os.Signal, 16),
		Others: make(chan os.Signal, 256),
		Ready:  make(chan struct{}),
	}
	for _, sig := range keptByGo {
		if ignored(sig) {
			t.Ignored = append(t.Ignored, sig)
		}
	}
	stops := make(chan struct{})
	go func() { // not in the caller, which during initialisation is bound to its thread: that doubles the switches
		signal.Notify(t.Stops, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
		close(stops)
		for sig := syscall.Signal(1); sig <= last; sig++ {
			if forwarded(sig) && !isStop(sig) {
				signal.Notify(t.Others, sig)
			}
		}
		close(t.Ready)
	}()
	<-stops
	return t
}

func isStop(sig syscall.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGINT || sig == syscall.SIGQUIT || sig == syscall.SIGHUP
}

func forwarded(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF, 32, 33, 34:
		return false
	}
	return true
}

// Settle returns when every signal that has reached this process is in its channel. (Signals pass through a queue of the runtime;
// signal.Stop waits until that is empty, also for a channel that was only just registered.)
func (t *Trap) Settle() {
	if t.Stops == nil {
		return
	}
	probe := make(chan os.Signal, 1)
	signal.Notify(probe, syscall.SIGTERM)
	signal.Stop(probe)
}

// IgnoreWhile runs f while sigs are ignored by this process, so that a child which f starts ignores them from its first instruction.
// Of sigs, those that arrive meanwhile are lost.
func (t *Trap) IgnoreWhile(sigs []syscall.Signal, f func()) {
	for _, sig := range sigs {
		signal.Ignore(sig)
	}
	f()
	for _, sig := range sigs {
		if isStop(sig) {
			signal.Notify(t.Stops, sig)
		} else {
			signal.Notify(t.Others, sig)
		}
	}
}

// ignored asks the kernel, because signal.Ignored knows of SIGHUP and SIGINT only.
func ignored(sig syscall.Signal) bool {
	const sigIgn = 1
	// struct sigaction of the kernel: the handler comes first; the rest is at most 32 bytes.
	var action [8]uintptr
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
	return errno == 0 && action[0] == sigIgn
}
