package boot

import (
	"fmt"
	"net"
	"net/netip"
	"os"
)

// pipedConfig is where garm finds the config that it inherits as its first file beyond the standard ones.
const pipedConfig = "/proc/self/fd/3"

// pipeOf returns the reading end of a pipe that yields data once.
func pipeOf(data []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot hand garm its config: %w", err)
	}
	go func() {
		defer w.Close()
		_, _ = w.Write(data) // a garm that dies before it has read everything says so itself
	}()
	return r, nil
}

// freeLoopback returns an address that nobody listens on now.
func freeLoopback() (netip.AddrPort, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("cannot find a free port on 127.0.0.1 for the first boot: %w", err)
	}
	defer l.Close()
	return netip.ParseAddrPort(l.Addr().String())
}
