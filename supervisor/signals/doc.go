// Package signals takes the signals sent to this process and keeps them until the supervisor forwards them.
//
// It has handlers of its own, one for all signals, instead of package os/signal. To take 58 signals through that costs
// two switches between threads for each, together some milliseconds of every start, and the runtime that it gets them
// from merges the real-time ones and keeps four for itself. The handler, a few lines of assembly per architecture,
// writes what the kernel says of the signal (siginfo_t, sigaction(2)) to a pipe: the self-pipe of D. J. Bernstein.
// Nothing of Go runs in a handler; Go's own is left in place for SIGURG and 33, and gets the faults of our own.
//
// It imports as little as possible, because package sigtrap runs it during package initialisation. Only Linux on amd64
// and arm64 is supported.
package signals
