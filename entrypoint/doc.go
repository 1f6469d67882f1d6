// Command garm-entrypoint is the ENTRYPOINT of a garm server image: it runs garm as its child and brings the server to
// the initialised state.
//
// The package is the command line: main.go says which command does what, and each command is a file. It alone reads the
// environment, knows the exit codes, and exits. The main job is garm-entrypoint/entrypoint/boot's; the server that
// others run is reached by garm-entrypoint/entrypoint/remote; what is configured is read by
// garm-entrypoint/entrypoint/settings. floors_test.go holds who may know whom.
package main
