// Package state is what is kept in GARM_STATE_DIR from one start to the next: the mark of a first boot that is not
// proven yet and the generated password. One file a thing, each written whole, durably and 0600 by
// garm-entrypoint/internal/durable before anybody relies on it; another thing to keep gets a file and a type beside
// them.
//
// It imports neither what asks for these things (boot, remote) nor anything that speaks to garm.
package state
