package main

import (
	"sync"
	"syscall"
)

// live are the processes that have to be killed when the run ends early.
type live struct {
	sync.Mutex
	pids map[int]bool
}

func (l *live) forget(pid int) {
	l.Lock()
	defer l.Unlock()
	delete(l.pids, pid)
}

// kill ends them all. It keeps the lock: no other is started.
func (l *live) kill() {
	l.Lock()
	for pid := range l.pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // not reaped, so it is still ours
	}
}
