// Package listener tells whose process listens on an address of this host, so that a secret meant for a child goes to
// nobody who took its port.
package listener
