// Package durable keeps the few files that must survive a crash and must never be overwritten (generated secrets and
// marks), and replaces as a whole those that may be. It also explains, in words an operator can act on, why a file
// cannot be read or written.
package durable
