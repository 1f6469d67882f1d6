// Package early does, in the earliest package initialisation that Go allows, what a command that supervises would else
// have to wait for later: it begins to create threads.
//
// Each thread takes two switches between processors, which adds up to a millisecond and more, while the other processor
// has nothing to do: this one initialises the packages of the API client. The health check and other commands that
// supervise nothing are spared the cost, and the pids limit of their container the threads; those that only supervise,
// most of them.
package early
