// Command garm-entrypoint is the ENTRYPOINT of a garm server image: it runs
// garm as its child and brings the server to the initialised state.
//
// The package holds the command line, the wiring and the exit codes, and
// nothing else. It alone reads the environment, and main alone exits. What PID
// 1 must do is in garm-entrypoint/supervisor, what the API needs in
// garm-entrypoint/entrypoint/initializer, what config.toml says in
// garm-entrypoint/entrypoint/garmconfig, what the image ships in
// garm-entrypoint/image.
package main
