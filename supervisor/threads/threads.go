package threads

import (
	"runtime"
	"sync"
)

const (
	// maxProcs bounds GOMAXPROCS: forwarding and reaping need one processor, whatever else the program does gets
	// another.
	maxProcs = 2
	// Busy is how many threads to reserve for system calls that block (reading a file, syncing it, writing to a log
	// that nobody reads), and for those that the runtime has taken off one task and not yet made available for the
	// next: with 4, a program busy with garbage collection still asked for one more now and then.
	Busy = 12
	// Idle is how many do for a program that does nothing but supervise.
	Idle = 4

	// Max is the most threads that a supervisor has: maxProcs and Busy, 6 for what Go's runtime keeps for itself (the
	// main thread, the monitor, the template thread), for signals and for a loop that may not have the main thread, and
	// 4 to be safe.
	Max = maxProcs + Busy + 6 + 4
)

// Reserve creates all threads that Go may need later, now: a few and spare ones, Busy or Idle. Further calls wait for
// the first and do nothing. Where a child fills the container's pids limit, the runtime could not create one any more,
// and that is a fatal error (runtime.newosproc: "failed to create new OS thread"). Go never ends an idle thread
// (golang.org/issue/14592). Fixing GOMAXPROCS also keeps the runtime from raising it when the CPU limit changes (since
// Go 1.25).
func Reserve(spare int) { once.Do(func() { reserve(spare) }) }

var once sync.Once

func reserve(spare int) {
	procs := min(runtime.GOMAXPROCS(0), maxProcs)
	runtime.GOMAXPROCS(procs)
	var ready, gone sync.WaitGroup
	release := make(chan struct{})
	for range procs + spare {
		ready.Add(1)
		gone.Go(func() {
			runtime.LockOSThread() // a thread of its own, each
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	gone.Wait()
}
