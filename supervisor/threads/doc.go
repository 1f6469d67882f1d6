// Package threads creates the operating system's threads that a supervisor may need, before its child can use up the
// pids limit.
//
// It imports as little as possible, so that a program can run it during package initialisation.
package threads
