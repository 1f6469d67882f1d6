package signals

import (
	"syscall"
	"unsafe"
)

// What the handler reads; set before it is installed.
var (
	// pipe is where it writes to.
	//lint:ignore U1000 by assembly
	pipe int32
	// faults has a bit set for every signal, by its number, that the kernel sends for faults of our own.
	//lint:ignore U1000 by assembly
	faults uint64 = 1<<syscall.SIGILL | 1<<syscall.SIGTRAP | 1<<syscall.SIGBUS | 1<<syscall.SIGFPE | 1<<syscall.SIGSEGV | 1<<syscall.SIGSYS
	// writing has bits set for the signals that the kernel sends for writes of our own, as if we had (kernel/signal.c,
	// SEND_SIG_NOINFO): where nobody reads, and beyond RLIMIT_FSIZE.
	//lint:ignore U1000 by assembly
	writing uint64 = 1<<syscall.SIGPIPE | 1<<syscall.SIGXFSZ
	// self is our process id.
	//lint:ignore U1000 by assembly
	self = int32(syscall.Getpid())
	// goHandler is the address of the Go runtime's handler.
	//lint:ignore U1000 by assembly
	goHandler uintptr
)

// childTold is 1 from a SIGCHLD that was written to the pipe until ReapingNow: further ones would say nothing new.
var childTold uint32

// untold has bits set, by their numbers modulo 64, for signals that did not fit into the pipe. Another thread may
// meanwhile have read that empty and looked here before the bit was set: hence one more record, of nothing, is written,
// or the pipe is still full.
var (
	untold uint64
	//lint:ignore U1000 by assembly
	nothing record
)

// record is the beginning of a siginfo_t of 64 bits, which is what the handler writes.
type record struct {
	signo, errno, code, _ int32
	pid, uid              uint32
}

const recordSize = unsafe.Sizeof(record{})

// handlerAddress is the address of the handler, which cannot be called from Go. The handler
//   - leaves faults of our own, which is what si_code > 0 says of them (sigaction(2)), to the runtime,
//   - does nothing on SIGPIPE and SIGXFSZ for a write of our own, nor on a SIGCHLD while childTold is set,
//   - writes recordSize bytes of the others to the pipe; where that is full, it notes them in untold and writes nothing instead.
//
// It runs on the signal stack that every thread of the runtime has, with all signals blocked, and touches nothing but
// that stack, the variables above and the registers that a call may change.
func handlerAddress() uintptr
