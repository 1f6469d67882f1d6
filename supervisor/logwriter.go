package supervisor

import (
	"errors"
	"io"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ptrSize is the size of a word of a signal set.
const ptrSize = unsafe.Sizeof(uintptr(0))

// LogWriter returns a writer to a descriptor, normally 2, for the log of a supervisor. Unlike os.Stderr it neither raises SIGPIPE when
// nobody reads any more, nor is it stopped on a terminal with `stty tostop` while the child has the foreground: with SIGTTOU caught,
// such a write would be restarted for ever.
func LogWriter(fd int) io.Writer { return logWriter(fd) }

type logWriter int

func (w logWriter) Write(p []byte) (int, error) {
	var n int
	err := WithoutSIGPIPE(func() (err error) {
		for n < len(p) && err == nil {
			var written int
			written, err = w.writeSome(p[n:])
			n += written
		}
		return err
	})
	return n, err
}

// writeSome writes once, also to a descriptor that somebody who shares it has made non-blocking.
func (w logWriter) writeSome(p []byte) (int, error) {
	n, err := unix.Write(int(w), p)
	switch err {
	case nil:
		return n, nil
	case unix.EINTR:
		return 0, nil
	case unix.EAGAIN:
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(w), Events: unix.POLLOUT}}, -1)
		if err == unix.EINTR {
			err = nil
		}
	}
	return 0, err
}

// WithoutSIGPIPE runs write, which may write to a pipe or socket whose reader is gone, such that only its error EPIPE tells: the signal
// that comes with it is not taken for one to forward. SIGTTOU is held off as well. write must do its writing in the calling goroutine.
func WithoutSIGPIPE(write func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer blockInThread(syscall.SIGPIPE, syscall.SIGTTOU)()
	err := write()
	if errors.Is(err, syscall.EPIPE) {
		discardPending(syscall.SIGPIPE)
	}
	return err
}

// discardPending takes a signal that is pending for this thread, in which it must be blocked (sigtimedwait(2)).
func discardPending(sig syscall.Signal) {
	const kernelSetSize = 8
	set := sigset(sig)
	var now unix.Timespec
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGTIMEDWAIT,
		uintptr(unsafe.Pointer(&set)), 0, uintptr(unsafe.Pointer(&now)), kernelSetSize, 0, 0)
}
