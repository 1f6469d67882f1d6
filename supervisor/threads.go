package supervisor

import (
	"runtime"
	"sync"
)

const (
	// maxProcs bounds GOMAXPROCS: forwarding and reaping need one processor, whatever else the program does gets another.
	maxProcs = 2
	// spareThreads are for system calls that block (reading a file, syncing it, writing to a log that nobody reads), and for threads
	// that the runtime has taken off one task and not yet made available for the next: with 4, a program busy with garbage collection
	// still asked for one more now and then.
	spareThreads = 12

	// MinPids is the least pids limit (docker run --pids-limit) under which a supervisor runs; what the child needs comes on top. It is
	// maxProcs and spareThreads, 8 for what Go's runtime keeps for itself (the main thread, the monitor, the template thread, two for
	// signals) and for the forker, and 2 to be safe.
	MinPids = maxProcs + spareThreads + 8 + 2
)

var reserveOnce sync.Once

// reserveThreads creates all threads that Go may need later, now. Where a child fills the container's pids limit, the runtime could
// not create one any more, and that is a fatal error (runtime.newosproc: "failed to create new OS thread"). Go never ends an idle thread
// (golang.org/issue/14592). Fixing GOMAXPROCS also keeps the runtime from raising it when the CPU limit changes (since Go 1.25).
func reserveThreads() {
	reserveOnce.Do(func() {
		procs := min(runtime.GOMAXPROCS(0), maxProcs)
		runtime.GOMAXPROCS(procs)
		var ready, gone sync.WaitGroup
		release := make(chan struct{})
		for range procs + spareThreads {
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
}
