package mainthread

import (
	"runtime"
	"sync/atomic"
)

func init() { runtime.LockOSThread() }

var work atomic.Pointer[chan func()]

// Run runs f in a goroutine, and returns when it does. Until then the main thread does what comes through Work. It is
// for main itself, and for one f at a time.
func Run(f func()) {
	queue, done := make(chan func()), make(chan struct{})
	work.Store(&queue)
	defer work.Store(nil)
	go func() {
		defer close(done)
		f()
	}()
	for {
		select {
		case g := <-queue:
			g()
		case <-done:
			return
		}
	}
}

// Work takes what the main thread is to do, one after the other; nil where Run does not run.
func Work() chan<- func() {
	if queue := work.Load(); queue != nil {
		return *queue
	}
	return nil
}
