package supervisor

import (
	"io"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// LogWriter returns a writer to a descriptor, normally 2, for the log of a supervisor. Unlike os.Stderr it neither ends
// the process when nobody reads any more, nor is it stopped on a terminal with `stty tostop` while the child has the
// foreground: with SIGTTOU caught, such a write would be restarted for ever.
func LogWriter(fd int) io.Writer { return logWriter(fd) }

type logWriter int

func (w logWriter) Write(p []byte) (n int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer blockInThread(syscall.SIGTTOU)()
	for n < len(p) && err == nil {
		var written int
		written, err = w.writeSome(p[n:])
		n += written
	}
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
