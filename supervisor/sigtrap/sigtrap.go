// Package sigtrap takes the signals of this process in the earliest package initialisation that Go allows.
//
// Until then the Go runtime answers: as PID 1 it ends with status 2 on SIGTERM. Go initialises packages in the order of
// their import paths as soon as their own imports are ready (since Go 1.21), so this one imports next to nothing and
// comes before everything under github.com that has imports of its own to wait for. Only package main and the children
// of tests import it: it takes a test process its own Ctrl-C.
package sigtrap

import "garm-entrypoint/supervisor/signals"

// Signals is for the Signals option of package supervisor.
var Signals = signals.Take()
