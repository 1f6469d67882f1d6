package testgarm

import (
	"errors"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// The ports that FreePort gives out: below the ones that Linux picks for outgoing connections and that Docker Engine
// picks for published ports (both net.ipv4.ip_local_port_range, 32768 and up by default). The engine asks for its pick
// by number, and would get it in spite of our hold.
const (
	firstPort = 20000
	lastPort  = 32767
)

// FreePort is a TCP port that is free on every address and that no other caller in any process gets until this test
// ends. A socket that is bound but does not listen holds it: nobody gets the port who, like this function, asks for it
// without SO_REUSEADDR, while a server that sets that, as Go's do, gets it.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		socket, err := reserve(unix.AF_INET6, &unix.SockaddrInet6{Port: port})
		if err != nil && !errors.Is(err, unix.EADDRINUSE) { // a host without IPv6
			socket, err = reserve(unix.AF_INET, &unix.SockaddrInet4{Port: port})
		}
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(socket) })
		return port
	}
	t.Fatalf("no free port from %d to %d", firstPort, lastPort)
	return 0
}

// reserve binds a socket, and only then allows others to share its address.
func reserve(family int, address unix.Sockaddr) (int, error) {
	socket, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = unix.Bind(socket, address); err == nil {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		_ = unix.Close(socket)
		return -1, err
	}
	return socket, nil
}
