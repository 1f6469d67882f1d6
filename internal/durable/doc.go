// Package durable keeps the few files that must survive a crash and must never
// be overwritten: generated secrets and marks. It also explains, in words an
// operator can act on, why a file cannot be read or written.
package durable
