package main

import (
	"context"
	"encoding/json"
	"fmt"

	"garm-entrypoint/entrypoint/initializer"
)

// initialise brings the server at GARM_SERVER to the initialised state, once.
func (a *app) initialise(inv invocation) int {
	r, s, _, err := a.remote(cmdInit, inv)
	if err != nil {
		return a.fail(err)
	}
	r.Options.DryRun = inv.dryRun
	init, err := initializer.New(r.Options)
	if err != nil {
		return a.fail(err)
	}
	stopped, cancel := a.untilStopped()
	defer cancel()
	ctx := stopped
	if s.StartTimeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, s.StartTimeout)
		defer cancel()
	}
	_, result, err := r.Ensure(ctx, init)
	switch {
	case err != nil && stopped.Err() != nil:
		return a.fail(context.Cause(stopped))
	case err != nil:
		a.printFaults(err)
		return exitCodeOf(err)
	}
	if inv.output == "json" {
		if err := json.NewEncoder(a.stdout).Encode(result); err != nil {
			return a.fail(fmt.Errorf("cannot write the result: %w", err))
		}
		return exitOK
	}
	for _, line := range describeResult(s.Username, result) {
		fmt.Fprintln(a.stdout, line)
	}
	if kept := r.PasswordFile(); kept != "" && !result.DryRun {
		fmt.Fprintln(a.stdout, "password: kept in "+kept)
	}
	return exitOK
}
