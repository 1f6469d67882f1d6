// Package testgarm lets tests run the real programs: garm and garm-cli built from go.mod's pin, and our own. It is
// imported by tests only.
package testgarm
