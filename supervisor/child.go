package supervisor

import (
	"os"
	"slices"
	"syscall"
	"time"
)

// Command describes a child.
type Command struct {
	// Path is the executable, already looked up (see LookPath).
	Path string
	// Args is argv, the program's name included.
	Args []string
	// Env is handed over byte for byte, duplicates included.
	Env []string
	// Files become descriptors 3, 4, ... of the child. The caller may close its own after Start.
	Files []*os.File
	// Umask of the child; -1 leaves ours. While the child is being started it is ours too.
	Umask int
	// Terminal gives the child a process group of its own and the foreground of our terminal, with job control as under
	// a shell. Otherwise it gets a session of its own and no terminal: Ctrl-C reaches it once, through us, and the
	// job-control stops (SIGTSTP, SIGTTIN, SIGTTOU), which the kernel would discard there, reach it as SIGSTOP.
	Terminal bool
	// Hold lists signals that are kept back until Release, or until HoldFor after the start (0: no limit), and then
	// delivered once each. Stop signals are never held.
	Hold    []syscall.Signal
	HoldFor time.Duration
	// StopTimeout is the time from the first stop signal to SIGKILL. Further stop signals do not change it; 0 means no
	// limit.
	StopTimeout time.Duration
	// Last: no other child follows. What Close does begins when this one has ended, without waiting to be asked.
	Last bool
}

// Child is a started child. The loop owns all fields but done and status, which is written before done is closed.
type Child struct {
	loop *loop
	cmd  Command
	pid  int

	held      []syscall.Signal // what Hold has kept back so far
	holding   bool
	holdUntil time.Time // zero: no limit
	killAt    time.Time // zero: no stop signal yet, no limit, or already killed
	expired   bool      // killed at killAt

	stopped      bool           // by a job-control stop, as far as wait4 has told
	stopReport   syscall.Signal // what stopped it, until suspend has acted on it
	stopInFlight bool           // a stop was sent and its report is still to come
	contOwed     bool           // a stop signal followed that stop: continue the child as soon as it is reported stopped
	suspendUs    bool           // the stop was forwarded: whoever sent it wants us stopped too

	done   chan struct{}
	status Status
}

// Pid is the child's process id. It is not valid for kill once Done is closed.
func (c *Child) Pid() int { return c.pid }

// Done is closed when the child has ended and has been reaped.
func (c *Child) Done() <-chan struct{} { return c.done }

// Status says how the child ended. It waits for Done.
func (c *Child) Status() Status {
	<-c.done
	return c.status
}

// holds reports whether sig is to be kept back for now, and keeps it.
func (c *Child) holds(sig syscall.Signal) bool {
	if !c.holding || !slices.Contains(c.cmd.Hold, sig) {
		return false
	}
	if !slices.Contains(c.held, sig) {
		c.held = append(c.held, sig)
	}
	return true
}
