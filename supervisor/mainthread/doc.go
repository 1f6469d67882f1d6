// Package mainthread gives the main thread of the process, the leader of its thread group, to who needs it: the loop of
// a supervisor.
//
// Orphans are the children of that thread (kernel, kernel/exit.c: find_new_reaper), and wait4(2) searches the children
// of the calling thread first, then those of one thread after the other. From any other of twenty threads, each zombie
// costs up to twice as much. And the kernel prefers it for the signals of the process (kernel/signal.c:
// complete_signal): who waits for them on it is woken directly.
//
// To have the main thread at hand, the package locks the main goroutine to it for good, in its initialisation. Only
// programs may import package supervisor, therefore, not libraries.
package mainthread
