package sdnotify

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Variable names the socket in a service's environment.
const Variable = "NOTIFY_SOCKET"

// Assignments of a message that our service manager may act on.
const (
	// Ready: the start is done.
	Ready = "READY=1"
	// Stopping: the end has begun.
	Stopping = "STOPPING=1"
)

// maxStatus is how many bytes of a status are sent. systemd drops a message of more than 4096, whatever else is in it
// (v252, NOTIFY_BUFFER_MAX).
const maxStatus = 1024

// Status is one line for people.
func Status(text string) string {
	if len(text) > maxStatus {
		text = strings.ToValidUTF8(text[:maxStatus], "") + "…"
	}
	return "STATUS=" + strings.ReplaceAll(text, "\n", " ")
}

// ExtendTimeout asks for that long, from now, for the start or stop under way. It never makes a timeout shorter.
func ExtendTimeout(d time.Duration) string {
	return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds())
}

// sendTimeout is how long a message may take. systemd reads its socket late while it reloads its units.
const sendTimeout = 5 * time.Second

// Send sends one message to the socket that Variable named: a path, or an abstract address with @ for its NUL. A
// manager that is busy is waited for, but not for ever: sendTimeout.
func Send(socket string, assignments ...string) error {
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return fmt.Errorf("cannot notify the service manager: %s=%q is neither a path nor an abstract address", Variable, socket)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("cannot notify the service manager: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	patience := unix.NsecToTimeval(sendTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &patience); err != nil {
		return fmt.Errorf("cannot notify the service manager: %w", err)
	}
	message := []byte(strings.Join(assignments, "\n"))
	for { // a call with a timeout is never restarted after a signal (signal(7))
		if err = unix.Sendto(fd, message, unix.MSG_NOSIGNAL, &unix.SockaddrUnix{Name: socket}); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("cannot notify the service manager at %s: %w", socket, err)
	}
	return nil
}
