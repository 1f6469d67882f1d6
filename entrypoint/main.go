package main

import (
	"fmt"
	"log"
	"os"

	"golang.org/x/sys/unix"

	_ "garm-entrypoint/entrypoint/early"
	"garm-entrypoint/internal/linequeue"
	"garm-entrypoint/supervisor"
	"garm-entrypoint/supervisor/mainthread"
	"garm-entrypoint/supervisor/sigtrap"
)

// main leaves the main thread to the supervisor.
func main() { mainthread.Run(process) }

// process is the whole program, to its exit.
func process() {
	// Neither garm nor its providers may read the password in our environ or memory, root in a container's default
	// capabilities included: that takes CAP_SYS_PTRACE then (prctl(2), ptrace(2)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(supervisor.LogWriter(2), "garm-entrypoint: cannot protect the memory of this process:", err)
	}
	lines := linequeue.New(supervisor.LogWriter(2))
	// Libraries must not write past it: package os would end us where nobody reads any more.
	log.SetOutput(lines)
	os.Stdout, os.Stderr = nil, nil
	a := app{
		env:     os.Environ(),
		stdout:  supervisor.LogWriter(1),
		stderr:  lines,
		signals: sigtrap.Signals,
	}
	code := a.start(os.Args[1:])
	lines.Flush()
	os.Exit(code)
}

// start runs what was asked for, if we can be stopped while we do.
func (a *app) start(args []string) int {
	if err := a.signals.Err(); err != nil {
		return a.fail(err)
	}
	return a.run(args)
}

// run carries out a command line and returns the exit code.
func (a *app) run(args []string) int {
	inv, err := parse(args)
	if err != nil {
		return a.fail(err)
	}
	switch inv.command {
	case cmdHelp:
		return a.help(inv)
	case cmdVersion:
		fmt.Fprintln(a.stdout, "garm-entrypoint", version)
		return exitOK
	case cmdExec:
		return a.exec(inv)
	case cmdHealthcheck:
		return a.healthcheck(inv)
	case cmdCheck:
		return a.check(inv)
	case cmdInit:
		if inv.spawn {
			return a.supervise(inv)
		}
		return a.initialise(inv)
	case cmdWatch:
		return a.watch(inv)
	case cmdPlan:
		return a.plan(inv)
	case cmdApply:
		return a.apply(inv)
	case cmdExport:
		return a.export(inv)
	}
	switch {
	case inv.printOnly:
		return a.garmAlone(inv, -1)
	case inv.subcommand:
		return a.garmAlone(inv, subcommandUmask)
	}
	return a.supervise(inv)
}
