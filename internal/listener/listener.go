package listener

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Errors of HeldBy.
var (
	// ErrStranger: another process listens there.
	ErrStranger = errors.New("the port is held by another process, so nothing was sent to it")
	// ErrNobody: no process of this host listens there.
	ErrNobody = errors.New("no process of this host listens there, so nothing was sent")
)

// HeldBy returns nil when everybody who listens on the address is the process or descends from it. It also returns nil
// where the system does not tell: no /proc, or a process whose descriptors we may not see (proc(5): same user, and
// dumpable).
func HeldBy(pid int, address netip.AddrPort) error {
	inodes, err := listening(address)
	if err != nil {
		return nil
	}
	if len(inodes) == 0 {
		return ErrNobody
	}
	// Mostly it is the process itself; to find its descendants, all processes of the host have to be looked at.
	for _, find := range []func(int) []int{itself, tree} {
		held, err := sockets(find(pid))
		if err != nil || all(inodes, held) {
			return nil
		}
	}
	return ErrStranger
}

func all(these, in []string) bool {
	for _, s := range these {
		if !slices.Contains(in, s) {
			return false
		}
	}
	return true
}

func itself(pid int) []int { return []int{pid} }

// listening returns the inodes of the sockets that take connections to the address: bound to it, or to all addresses.
func listening(address netip.AddrPort) (inodes []string, err error) {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		data, err := os.ReadFile(table)
		if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(table, "6") {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			// sl local_address rem_address st tx:rx tr:tm retrnsmt uid timeout inode
			const local, state, inode, listen = 1, 3, 9, "0A"
			f := strings.Fields(lines.Text())
			if len(f) <= inode || f[state] != listen {
				continue
			}
			bound, err := parse(f[local])
			if err != nil {
				return nil, err
			}
			if bound.Port() == address.Port() && (bound.Addr().IsUnspecified() || bound.Addr() == address.Addr().Unmap()) {
				inodes = append(inodes, f[inode])
			}
		}
	}
	return inodes, nil
}

// parse reads an address as the kernel prints it: 32-bit words in the order of this machine, which is little-endian
// wherever Go runs garm, and the port.
func parse(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("cannot read the address %q: %w", text, err)
	}
	for word := 0; word+4 <= len(raw); word += 4 {
		slices.Reverse(raw[word : word+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	n, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}, fmt.Errorf("cannot read the address %q", text)
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), nil
}

// sockets returns the inodes of all sockets that processes hold. An error means that there may be more.
func sockets(pids []int) (inodes []string, err error) {
	for _, p := range pids {
		dir := fmt.Sprintf("/proc/%d/fd", p)
		entries, err := os.ReadDir(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue // it has just ended
		}
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			link, err := os.Readlink(dir + "/" + entry.Name())
			if inode, ok := strings.CutPrefix(link, "socket:["); ok && err == nil {
				inodes = append(inodes, strings.TrimSuffix(inode, "]"))
			}
		}
	}
	return inodes, nil
}

// tree is a process and all its descendants.
func tree(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name in it may hold anything, so fields count from its last ')'.
		if f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(f) > 1 {
			parent, _ := strconv.Atoi(string(f[1]))
			children[parent] = append(children[parent], id)
		}
	}
	found := []int{pid}
	for n := 0; n < len(found); n++ {
		found = append(found, children[found[n]]...)
	}
	return found
}
