// Package initializer brings a garm server to the initialised state through its API, proves it, and keeps it there.
//
// Initialised means: the configured admin can log in, and the controller URLs that were asked for are set. It is proven
// by a login and by reading the controller back; never inferred from a status code alone, because garm's codes do not
// carry that meaning (a broken users table answers the first run with 409, a lost race with 400, a fresh v0.1.x server
// a login with 401).
//
// The package knows no processes, reads no environment but what a given transport reads, takes no signals and holds no
// global state: an operator, a job or a test may import it. See the example.
//
//	i, err := initializer.New(initializer.Options{Server: u, Credentials: c})
//	result, err := i.Ensure(ctx)   // once, until proven or ctx ends
//	err = i.Watch(ctx)             // from then on, until ctx ends
//
// What a caller may rely on: New sends nothing. Ensure changes nothing on a server that is as it was asked to be, sends
// one first run at most per try, and ends with one of RefusedError, MismatchError, TakeoverError or UnreachableError,
// or with what Options.NewPassword returned. Watch sends one request per Interval while all is well. Neither ever
// writes a secret to the Logger or into an error. Fields may be added to Options and Result; set and read them by name.
package initializer
