// Package boot is the main job: it takes garm from its start to its end and has it initialised meanwhile.
//
// Look makes the plan and writes nothing; New carries it out; Boot is the state machine, in boot.go, with the guarded
// first boot beside it in guard.go. Trial asks garm itself what it thinks of a plan, on a throw-away database.
//
// It stands on garm-entrypoint/supervisor, which runs processes and knows nothing of garm, on
// garm-entrypoint/entrypoint/initializer, which speaks to garm and knows no processes, and on settings, state and
// garmconfig. Exit codes and what is printed outside the log are main's.
package boot
