package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"garm-entrypoint/supervisor"
)

// exec supervises CMD. Its environment and umask stay as they are.
func (a *app) exec(inv invocation) int {
	path, err := a.lookPath(inv.args[0])
	if err != nil {
		code := a.fail(err)
		if inv.word {
			fmt.Fprintf(a.stderr, "garm-entrypoint: %q is no command of ours either; see: garm-entrypoint help\n", inv.args[0])
		}
		return code
	}
	return a.runProgram(supervisor.Command{
		Path: path, Args: inv.args, Env: a.env, Umask: -1, Terminal: true,
	})
}

// subcommandUmask is the default of GARM_UMASK: `garm admin list` makes a database where none is.
const subcommandUmask = 0o077

// garmAlone lets garm do what its arguments ask for, such as printing its version: supervised, and nothing else. It
// gets none of our secrets; a umask below 0 is ours.
func (a *app) garmAlone(inv invocation, umask int) int {
	binary, set := a.env.Get("GARM_BINARY")
	if !set || binary == "" {
		binary = "garm"
	}
	path, err := a.lookPath(binary)
	if err != nil {
		return a.fail(err)
	}
	return a.runProgram(supervisor.Command{
		Path: path, Args: append([]string{filepath.Base(path)}, inv.args...),
		Env: a.env.WithoutSecrets(), Umask: umask, Terminal: true,
	})
}

// runProgram supervises one program from start to end.
func (a *app) runProgram(cmd supervisor.Command) int {
	sup, err := supervisor.New(supervisor.Options{Logger: newLogger(a.stderr, "", ""), Signals: a.signals})
	if err != nil {
		return a.fail(err)
	}
	defer sup.Close()
	cmd.Last = true
	child, err := sup.Start(cmd)
	var stopped *supervisor.StopRequestedError
	switch {
	case errors.As(err, &stopped):
		return stopped.ExitCode()
	case err != nil:
		return a.fail(err)
	}
	return child.Status().Code()
}
