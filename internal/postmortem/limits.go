package postmortem

import (
	"fmt"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// What garm v0.2.1 needs, measured: it ends by itself below, or cannot do its work. Our own threads count as well.
const (
	needProcesses = 64        // garm has some 30 threads with ours, and each provider some 10
	needFiles     = 64        // ends at 16
	needMemory    = 128 << 20 // bytes; a first boot peaks at 60 MiB
	needSpace     = 4 << 20   // bytes; a new database has 2 to 3 MiB with its logs
)

// Limits are those that a process lives under. math.MaxUint64 is no limit.
type Limits struct {
	// Pids and Memory (bytes) are the smallest of the control group and those above it, as far as can be seen.
	Pids, Memory uint64
	// PidsRefused and OOMKills are how often the control group refused a fork, and had a process killed for its memory,
	// so far.
	PidsRefused, OOMKills uint64
	// Files is RLIMIT_NOFILE.
	Files uint64
	// Processes is RLIMIT_NPROC; it binds nobody but users other than root.
	Processes uint64
}

// ReadLimits reads those of this process, whose children share them; Files is the hard limit, since Go raises the soft
// one of its own process. See FilesOf.
func ReadLimits() Limits {
	l := readCgroup("/")
	l.Files, l.Processes = math.MaxUint64, math.MaxUint64
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		l.Files = limit.Max
	}
	if os.Geteuid() != 0 && unix.Getrlimit(unix.RLIMIT_NPROC, &limit) == nil {
		l.Processes = limit.Cur
	}
	return l
}

// FilesOf is the soft limit of open files that a running process has, math.MaxUint64 when it cannot be read.
func FilesOf(pid int) uint64 {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit) != nil {
		return math.MaxUint64
	}
	return limit.Cur
}

func readCgroup(root string) Limits {
	l := Limits{Pids: math.MaxUint64, Memory: math.MaxUint64}
	dirs, _ := cgroupDirs(root, "pids")
	for _, dir := range dirs {
		l.Pids = min(l.Pids, readNumber(dir, "pids.max"))
		l.PidsRefused = max(l.PidsRefused, readCount(dir, "pids.events", "max"))
	}
	dirs, v2 := cgroupDirs(root, "memory")
	for i, dir := range dirs {
		size, events := "memory.limit_in_bytes", "memory.oom_control"
		if v2 {
			size, events = "memory.max", "memory.events"
		}
		l.Memory = min(l.Memory, readNumber(dir, size))
		if i == 0 { // those above count others too
			l.OOMKills = readCount(dir, events, "oom_kill")
		}
	}
	return l
}

// Small lists the limits under which garm may end by itself, each with its cure.
func (l Limits) Small() []string {
	return append(l.smallCounts(), l.smallMemory()...)
}

// Causes lists what may have ended a process with that signal (0: it ended with a status): each cause with its cure.
// The kernel answers memory with SIGKILL; a fork or an open that it refuses ends a process by its own decision.
func (l Limits) Causes(signal syscall.Signal) []string {
	if signal != unix.SIGKILL {
		return l.smallCounts()
	}
	if l.OOMKills == 0 {
		return []string{"somebody killed it with SIGKILL"}
	}
	return []string{fmt.Sprintf("the kernel has killed %d of this container's processes for their memory, and the limit is %s: raise it (Docker: --memory)", l.OOMKills, size(l.Memory))}
}

func (l Limits) smallCounts() (small []string) {
	add := func(format string, args ...any) { small = append(small, fmt.Sprintf(format, args...)) }
	if l.Pids < needProcesses {
		refused := ""
		if l.PidsRefused > 0 {
			refused = fmt.Sprintf(" and refused %d times", l.PidsRefused)
		}
		add("the limit of processes is %d%s, and garm and its providers need %d: raise it (Docker: --pids-limit)", l.Pids, refused, needProcesses)
	}
	if l.Processes < needProcesses {
		add("the user's limit of processes is %d, and garm and its providers need %d: raise it (ulimit -u)", l.Processes, needProcesses)
	}
	if l.Files < needFiles {
		add("the limit of open files is %d, and garm needs %d: raise it (Docker: --ulimit nofile=1024)", l.Files, needFiles)
	}
	return small
}

func (l Limits) smallMemory() []string {
	if l.Memory >= needMemory {
		return nil
	}
	return []string{fmt.Sprintf("the memory limit is %s, and garm needs %s: raise it (Docker: --memory)", size(l.Memory), size(needMemory))}
}

// size words a number of bytes.
func size(bytes uint64) string {
	switch {
	case bytes == math.MaxUint64:
		return "that of the machine"
	case bytes >= 1<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
