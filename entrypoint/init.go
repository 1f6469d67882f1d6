package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"garm-entrypoint/entrypoint/boot"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/entrypoint/settings"
)

// initialise brings the server at GARM_SERVER to the initialised state, once.
func (a *app) initialise(inv invocation) int {
	r, s, log, err := a.remote(cmdInit, inv)
	if err != nil {
		return a.fail(err)
	}
	declared, err := loadDeclared(s, a.env, log)
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
	init, result, err := r.Ensure(ctx, init)
	switch {
	case err != nil && stopped.Err() != nil:
		return a.fail(context.Cause(stopped))
	case err != nil:
		a.printFaults(err)
		return exitCodeOf(err)
	}
	var provisioned *provision.Result
	code := exitOK
	if declared != nil && !result.DryRun {
		p := &provisioner{server: r, settings: s, log: log, session: init.Session(), declared: declared}
		p.recall()
		if provisioned, err = p.apply(ctx, nil); err != nil {
			return a.failRemote(ctx, err)
		}
		if !provisioned.Provisioned() {
			code = exitTempFail
		}
	}
	if inv.output == "json" {
		if err := json.NewEncoder(a.stdout).Encode(initialised{result, provisioned}); err != nil {
			return a.fail(fmt.Errorf("cannot write the result: %w", err))
		}
		return code
	}
	for _, line := range describeResult(s.Username, result) {
		fmt.Fprintln(a.stdout, line)
	}
	if kept := r.PasswordFile(); kept != "" && !result.DryRun {
		fmt.Fprintln(a.stdout, "password: kept in "+kept)
	}
	if provisioned != nil {
		if err := provision.WriteResult(a.stdout, provisioned, a.colours()); err != nil {
			return a.fail(fmt.Errorf("cannot write the result: %w", err))
		}
	}
	return code
}

// initialised is what init prints as JSON.
type initialised struct {
	initializer.Result
	Provision *provision.Result `json:"provision,omitempty"`
}

// loadDeclared reads the provision files for init and watch; nil: there are none.
func loadDeclared(s settings.Settings, env settings.Environment, log *slog.Logger) (*provision.Declared, error) {
	load := boot.Loader(s.ProvisionPaths(), env)
	if load == nil {
		return nil, nil
	}
	declared, err := load()
	if err == nil {
		warn(log, declared.Warnings)
	}
	return declared, err
}
