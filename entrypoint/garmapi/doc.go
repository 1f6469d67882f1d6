// Package garmapi is the one client of garm's API, for whoever asks garm something: transport and trust, the login
// token with its renewal, a time limit for each request, errors with garm's own words and without secrets, and what
// each version lacks.
//
//	c := garmapi.New(garmapi.Options{Server: u, Transport: garmapi.NewTransport(garmapi.Trust{}, nil)})
//	s := garmapi.NewSession(c, garmapi.SessionOptions{Username: "admin", Password: p})
//	err := s.Do(ctx, garmapi.Request{Op: "list pools", Method: "GET", Path: "/pools", Into: &pools})
//
// A call that fails returns an *Error, which the server answered, or a *RequestError, which nobody answered readably.
// Neither shows a secret. Redirects are never followed, since a request may hold one. A Client and a Session are safe
// for concurrent use.
//
// It has no idea of first runs that have to be won or of what is declared: garm-entrypoint/entrypoint/initializer and
// garm-entrypoint/entrypoint/provision stand on it. It imports nothing of this project, knows no processes, reads no
// environment but what a given transport reads, and holds no global state.
package garmapi
