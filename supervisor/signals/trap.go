package signals

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	// standard is how many signals are of the standard kind: 1 to 31.
	standard = 32
	// queueLimit is how many signals are kept at most.
	queueLimit = 1 << 16
	// siKernel is SI_KERNEL.
	siKernel = 0x80
)

// Arrived is a signal that has arrived.
type Arrived struct {
	Signal syscall.Signal
	// FromKernel: nobody sent it, the kernel did (SI_KERNEL, sigaction(2)), as it does for the keys of the terminal.
	FromKernel bool
}

// Trap is where the signals arrive, in their order. Of a standard signal one waits at a time, as in the kernel
// (signal(7)); the real-time ones are all kept, up to 65,536; of those that come while 2,700 are there that the program
// could not look at yet (a full pipe, pipe(7)), one of each kind.
type Trap struct {
	// Ignored lists the signals that were ignored when the process started, of those of which Go lets us know (see
	// Take).
	Ignored []syscall.Signal

	mu       sync.Mutex
	queue    []Arrived
	queued   uint32 // has a bit set for every standard signal in queue
	children bool   // a SIGCHLD came
	buffer   [64]record

	woken atomic.Bool // by Wake, since Wait returned last

	read, write int       // the ends of the pipe
	action      sigaction // of a signal that is taken
	before      [last + 1]sigaction
	err         error
}

// New makes a trap for nothing but Put, for tests; see Take.
func New() *Trap {
	t := &Trap{read: -1, write: -1}
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
		t.err = &pipeError{err}
		return t
	}
	t.read, t.write = fds[0], fds[1]
	return t
}

// pipeError spares us package fmt, before which we want to be initialised.
type pipeError struct{ cause error }

func (e *pipeError) Error() string {
	return "cannot take signals: cannot make a pipe: " + e.cause.Error()
}

func (e *pipeError) Unwrap() error { return e.cause }

// Err says why the signals could not be taken: no file descriptor was left. Such a trap must not be used.
func (t *Trap) Err() error { return t.err }

// Wait returns when there is something for Next, while Children is true, after Wake, or at a time; zero: never; and now
// and then for nothing. It blocks the calling thread. One goroutine at a time may wait.
func (t *Trap) Wait(until time.Time) {
	if !t.settle() && !t.woken.Load() {
		t.poll(until)
		t.settle()
	}
	t.woken.Store(false)
}

// poll waits for the pipe.
func (t *Trap) poll(until time.Time) {
	var limit *syscall.Timespec
	if !until.IsZero() {
		left := syscall.NsecToTimespec(max(0, time.Until(until).Nanoseconds()))
		limit = &left
	}
	fd := struct {
		fd              int32
		events, revents int16
	}{int32(t.read), 1 /* POLLIN */, 0}
	_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fd)), 1, uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if errno != 0 && errno != syscall.EINTR { // refused, by a seccomp profile: look now and then
		time.Sleep(10 * time.Millisecond)
	}
}

// Wake ends a Wait, or the next one.
func (t *Trap) Wake() {
	if t.woken.Swap(true) {
		return
	}
	var nothing record
	// A full pipe wakes as well.
	_, _ = syscall.Write(t.write, unsafe.Slice((*byte)(unsafe.Pointer(&nothing)), recordSize))
}

// Next is the signal that has waited longest.
func (t *Trap) Next() (next Arrived, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return Arrived{}, false
	}
	next, t.queue = t.queue[0], t.queue[1:]
	if next.Signal < standard {
		t.queued &^= 1 << next.Signal
	}
	if len(t.queue) == 0 {
		t.queue = nil
	}
	return next, true
}

// Waiting reports whether there is something for Next. It is for the goroutine that waits, which else would not notice.
func (t *Trap) Waiting() bool {
	t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) > 0
}

// Put lets a signal arrive, for tests.
func (t *Trap) Put(sig syscall.Signal) {
	t.mu.Lock()
	t.put(Arrived{Signal: sig})
	t.mu.Unlock()
	t.Wake()
}

func (t *Trap) put(a Arrived) {
	switch sig := a.Signal; {
	case sig < standard && t.queued&(1<<sig) != 0:
		return
	case sig < standard:
		t.queued |= 1 << sig
	case len(t.queue) >= queueLimit:
		return
	}
	t.queue = append(t.queue, a)
}

// Children reports whether a SIGCHLD has come since ReapingNow.
func (t *Trap) Children() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.children
}

// ReapingNow is to be called before waiting for children: only a SIGCHLD that comes after it counts for Children.
func (t *Trap) ReapingNow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.children = false
	atomic.StoreUint32(&childTold, 0)
}

// settle receives what the handlers have told of, and reports whether there is something to do.
func (t *Trap) settle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		n, err := syscall.Read(t.read, unsafe.Slice((*byte)(unsafe.Pointer(&t.buffer)), unsafe.Sizeof(t.buffer)))
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.sortUntold()
			return t.children || len(t.queue) > 0
		}
		// A write of so few bytes goes through whole or not at all (pipe(7)), and so does what was read.
		for _, r := range t.buffer[:uintptr(n)/recordSize] {
			t.sort(r)
		}
	}
}

// sortUntold receives those for which the pipe had no room.
func (t *Trap) sortUntold() {
	for set := atomic.SwapUint64(&untold, 0); set != 0; set &= set - 1 {
		sig := syscall.Signal(bits.TrailingZeros64(set))
		if sig == 0 {
			sig = last
		}
		t.sort(record{signo: int32(sig)})
	}
}

// sort puts a signal where it belongs.
func (t *Trap) sort(r record) {
	switch sig := syscall.Signal(r.signo); {
	case sig == 0: // from Wake
	case sig == syscall.SIGCHLD:
		t.children = true
	default:
		t.put(Arrived{Signal: sig, FromKernel: r.code == siKernel})
	}
}
