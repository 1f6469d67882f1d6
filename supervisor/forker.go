package supervisor

import "runtime"

// forker is a thread that lives as long as the loop. Children are forked on it, because the parent-death signal is sent when the
// forking thread ends; and terminal calls are made on it, because they need a signal blocked in their thread.
type forker struct {
	work chan func()
	done chan struct{}
}

func newForker() *forker {
	f := &forker{work: make(chan func()), done: make(chan struct{})}
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		for work := range f.work {
			work()
			f.done <- struct{}{}
		}
	}()
	return f
}

// do runs work on the thread and waits for it.
func (f *forker) do(work func()) {
	f.work <- work
	<-f.done
}

func (f *forker) close() { close(f.work) }
