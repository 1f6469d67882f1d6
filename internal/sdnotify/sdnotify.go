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

// Status is one line for people.
func Status(text string) string {
	return "STATUS=" + strings.ReplaceAll(text, "\n", " ")
}

// ExtendTimeout asks for that long, from now, for the start or stop under way.
// It never makes a timeout shorter.
func ExtendTimeout(d time.Duration) string {
	return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds())
}

// Send sends one message to the socket that Variable named: a path, or an
// abstract address with @ for its NUL. It never blocks.
func Send(socket string, assignments ...string) error {
	if !strings.HasPrefix(socket, "/") && !strings.HasPrefix(socket, "@") {
		return fmt.Errorf("cannot notify the service manager: %s=%q is neither a path nor an abstract address", Variable, socket)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("cannot notify the service manager: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	message := []byte(strings.Join(assignments, "\n"))
	if err := unix.Sendto(fd, message, unix.MSG_NOSIGNAL, &unix.SockaddrUnix{Name: socket}); err != nil {
		return fmt.Errorf("cannot notify the service manager at %s: %w", socket, err)
	}
	return nil
}
