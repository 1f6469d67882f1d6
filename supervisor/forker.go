package supervisor

import (
	"runtime"

	"garm-entrypoint/supervisor/mainthread"
)

// forker is a thread that lives as long as the loop. Children are forked on it, because the parent-death signal is sent when the
// forking thread ends; and terminal calls are made on it, because they need a signal blocked in their thread. It is the main thread,
// where a program lets us have it, which is also the one to reap many orphans on.
type forker struct {
	main bool
	work chan<- func()
	done chan struct{}
}

func newForker() *forker {
	if work := mainthread.Work(); work != nil {
		return &forker{main: true, work: work, done: make(chan struct{})}
	}
	work := make(chan func())
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		for f := range work {
			f()
		}
	}()
	return &forker{work: work, done: make(chan struct{})}
}

// do runs work on the thread and waits for it.
func (f *forker) do(work func()) {
	f.work <- func() {
		work()
		f.done <- struct{}{}
	}
	<-f.done
}

func (f *forker) close() {
	if !f.main {
		close(f.work)
	}
}
