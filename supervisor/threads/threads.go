package threads

import (
	"runtime"
	"sync"
)

const (
	// maxProcs bounds GOMAXPROCS: forwarding and reaping need one processor, whatever else the program does gets another.
	maxProcs = 2
	// spare are for system calls that block (reading a file, syncing it, writing to a log that nobody reads), and for threads that the
	// runtime has taken off one task and not yet made available for the next: with 4, a program busy with garbage collection still
	// asked for one more now and then.
	spare = 12

	// Max is the most threads that a supervisor has: maxProcs and spare, 8 for what Go's runtime keeps for itself (the main thread, the
	// monitor, the template thread, two for signals) and for a forker that may not have the main thread, and 2 to be safe.
	Max = maxProcs + spare + 8 + 2
)

// Reserve creates all threads that Go may need later, now; further calls wait for the first and do nothing. Where a child fills the
// container's pids limit, the runtime could not create one any more, and that is a fatal error (runtime.newosproc: "failed to create
// new OS thread"). Go never ends an idle thread (golang.org/issue/14592). Fixing GOMAXPROCS also keeps the runtime from raising it when
// the CPU limit changes (since Go 1.25).
var Reserve = sync.OnceFunc(func() {
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
})
