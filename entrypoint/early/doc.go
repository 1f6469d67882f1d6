// Package early does, in the earliest package initialisation that Go allows,
// what a command that supervises would else have to wait for later: it begins to
// create threads.
//
// Each thread takes two switches between processors, fourteen of them 3 of the
// 15 ms from our start to the child's, while the other processor has nothing to
// do: this one initialises the packages of the API client. The health check and
// other commands that supervise nothing are spared the cost, and the pids limit
// of their container the threads.
package early
