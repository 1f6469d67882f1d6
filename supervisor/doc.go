// Package supervisor does what PID 1 of a container must do: it starts a child, forwards signals to it, reaps orphans,
// reports how the child ended, and leaves nothing behind.
//
// The loop, a goroutine with a thread to itself, owns all state and is the only waiter (wait4(-1)). Because it also is
// the only one that calls kill, a signal can never reach a recycled process id, and nobody can steal the child's
// status. Therefore the process must not use os/exec or os.Process.Wait beside a Supervisor, and must have one
// Supervisor at most.
//
// # Signals
//
// What arrives through package sigtrap goes to the child alone, never to its group. Signals that arrive while there is
// no child are kept for the next one, once per kind. The first stop signal (SIGTERM, SIGINT, SIGQUIT) closes
// [Supervisor.StopRequested], and no child starts after it. See package signals for the few that cannot be forwarded.
//
// One that somebody sends to the child between its fork and its exec may count as sent to us, and then is forwarded to
// it: until the exec it has our handler for SIGCONT, the job-control stops, 32 and 34.
//
// A SIGSTOP that somebody sends to the child between its fork and its exec stops us too until the SIGCONT: package
// syscall waits for the exec in the kernel (CLONE_VFORK). We send none there.
//
// # What the child inherits
//
// The environment as given; working directory, OOM score and resource limits as we got them (package syscall undoes the
// runtime's RLIMIT_NOFILE); no descriptors of ours but 0, 1, 2 and the ones asked for. Where 0, 1 or 2 was closed, Go's
// runtime has opened /dev/null in its place (runtime/fds_unix.go), and so the child has /dev/null there.
//
// Ignored signals: SIGHUP, SIGINT, SIGTSTP, SIGTTIN, SIGTTOU, 32 and 34 stay ignored. For all others Go installs a
// handler before any of our code runs and forgets what was there, so the child starts with their default.
//
// Signal mask: as we got it, but for the signals which Go must unblock in every thread (SIGHUP, SIGINT, SIGQUIT,
// SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGSTKFLT, SIGCHLD, SIGURG, SIGPROF, SIGSYS, 32 to 34):
// those are unblocked.
package supervisor
