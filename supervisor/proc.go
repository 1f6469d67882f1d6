package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// process is what /proc/PID/stat says.
type process struct {
	id, parent int
	started    string // in clock ticks since boot: tells a process from a later one with the same id
}

// identity is what stays the same of a process when its parent has ended.
func (p process) identity() process {
	p.parent = 0
	return p
}

// readProcess reads /proc/PID/stat (proc_pid_stat(5)). The command name in it may contain anything, so fields count
// from its last ')'.
func readProcess(pid int) (process, error) {
	const parent, started = 1, 19
	stat, err := readStat("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= started {
		return process{}, fmt.Errorf("cannot understand /proc/%d/stat", pid)
	}
	ppid, err := strconv.Atoi(string(fields[parent]))
	if err != nil {
		return process{}, fmt.Errorf("cannot understand /proc/%d/stat: %w", pid, err)
	}
	return process{id: pid, parent: ppid, started: string(fields[started])}, nil
}

// readStat reads a small file without the poller of package os, which costs seven system calls more; a host may have
// many processes.
func readStat(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 1024)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// descendants lists all processes below us, parents before their children.
func descendants() ([]process, error) {
	self := os.Getpid()
	if link, err := os.Readlink("/proc/self"); err != nil {
		return nil, err
	} else if link != strconv.Itoa(self) {
		return nil, errors.New("/proc belongs to another PID namespace")
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := make(map[int][]process)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // else it has just ended
			children[p.parent] = append(children[p.parent], p)
		}
	}
	tree := children[self]
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].id]...)
	}
	return tree, nil
}
