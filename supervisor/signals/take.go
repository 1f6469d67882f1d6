package signals

import (
	"runtime"
	"sync"
	"syscall"
)

// last is the highest signal number of Linux on every architecture that Go supports but MIPS.
const last = 64

// keptByGo are the signals whose disposition Go leaves alone (runtime/sigtab_linux_generic.go, _SigDefault and
// _SigSetStack), together with SIGHUP and SIGINT, for which it respects SIG_IGN (os/signal, "Default behavior of
// signals in Go programs"). Whether any other signal was ignored is lost before the first line of a Go program runs.
var keptByGo = [...]syscall.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, 32, 34,
}

// Take takes every signal from now on, once and for all, except
//   - SIGKILL and SIGSTOP, which nobody can,
//   - SIGURG, which the Go runtime sends to its own threads to preempt them (golang.org/issue/37942),
//   - 33, which it sends to them for system calls that all must make (SIGSETXID).
//
// SIGCHLD is taken too, for Trap.Children. Faults of our own (SIGSEGV and the like) remain Go panics; the same signals
// sent by kill arrive here. SIGPIPE that we cause ourselves, by writing to a pipe or socket that nobody reads,
// vanishes, only the error EPIPE tells; and so does SIGXFSZ. But package os ends the process after EPIPE on its Stdout
// and Stderr (see its File.Write), which package log writes to as well: a program must write to the descriptors itself.
//
// Package os/signal gets none of them any more. See Err for what can go wrong.
var Take = sync.OnceValue(func() *Trap {
	t := New()
	for _, sig := range keptByGo {
		if actionOf(sig)[0] == sigIgnore {
			t.Ignored = append(t.Ignored, sig)
		}
	}
	if t.err != nil {
		return t
	}
	pipe = int32(t.write)
	// As the runtime has it (its own stack, restarted system calls), but for the address.
	t.action = actionOf(syscall.SIGSEGV)
	goHandler, t.action[0] = t.action[0], handlerAddress()
	for sig := syscall.Signal(1); sig <= last; sig++ {
		if taken(sig) {
			t.before[sig] = actionOf(sig)
			t.action.set(sig)
		}
	}
	if blocked() != 0 {
		t.unblock()
	}
	return t
})

// Release gives all signals back to Go's runtime, for the tests of a program that takes them in its initialisation.
func (t *Trap) Release() {
	for sig := syscall.Signal(1); sig <= last; sig++ {
		if taken(sig) {
			t.before[sig].set(sig)
		}
	}
}

func taken(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGURG, 33:
		return false
	}
	return true
}

// unblock makes a thread that has no signal blocked. The others, and with them the child, keep the mask that we were
// started with.
func (t *Trap) unblock() {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		unblockAll()
		close(done)
		select {}
	}()
	<-done
}

// IgnoreWhile runs f while sigs are ignored by this process, so that a child which f starts ignores them from its first
// instruction. Of sigs, those that arrive meanwhile are lost.
func (t *Trap) IgnoreWhile(sigs []syscall.Signal, f func()) {
	ignore := t.action
	ignore[0] = sigIgnore
	for _, sig := range sigs {
		ignore.set(sig)
	}
	f()
	for _, sig := range sigs {
		t.action.set(sig)
	}
}

// WithoutSIGCHLD runs f while the kernel tells of no child that dies, because whoever reaps many needs no signal for
// each. The children remain there to be waited for, as long as SIGCHLD is not really ignored (wait(2)).
func (t *Trap) WithoutSIGCHLD(f func()) {
	var byDefault sigaction
	byDefault.set(syscall.SIGCHLD)
	f()
	t.action.set(syscall.SIGCHLD)
}
