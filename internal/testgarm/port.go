package testgarm

import (
	"testing"

	"golang.org/x/sys/unix"
)

// FreePort is a TCP port that is free on every address and that no other caller
// in any process gets until this test ends. A socket that is bound but does not
// listen holds it: the kernel gives the port to nobody who asks for any port,
// while a server that asks for this one with SO_REUSEADDR, as Go's do, gets it.
func FreePort(t testing.TB) int {
	t.Helper()
	socket, port, err := reserve(unix.AF_INET6, &unix.SockaddrInet6{})
	if err != nil { // a host without IPv6
		socket, port, err = reserve(unix.AF_INET, &unix.SockaddrInet4{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	return port
}

// reserve binds a socket to any port of the unspecified address, and only then
// allows others to share it.
func reserve(family int, any unix.Sockaddr) (socket, port int, err error) {
	socket, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, 0, err
	}
	var bound unix.Sockaddr
	if err = unix.Bind(socket, any); err == nil {
		if err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
			bound, err = unix.Getsockname(socket)
		}
	}
	switch bound := bound.(type) {
	case *unix.SockaddrInet6:
		return socket, bound.Port, nil
	case *unix.SockaddrInet4:
		return socket, bound.Port, nil
	}
	_ = unix.Close(socket)
	return -1, 0, err
}
