package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/entrypoint/remote"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
)

// provisioner is what plan, apply and export need.
type provisioner struct {
	server   *remote.Remote
	settings settings.Settings
	log      *slog.Logger
	session  *garmapi.Session
	declared *provision.Declared
	memory   *provision.Memory
}

// applyTries is how often apply tries what fails, with growing pauses from applyPause on.
const (
	applyTries = 3
	applyPause = 2 * time.Second
)

// plan shows what apply would change.
func (a *app) plan(inv invocation) int {
	p, err := a.provisioner(cmdPlan, inv)
	if err != nil {
		return a.fail(err)
	}
	ctx, cancel := a.untilStopped()
	defer cancel()
	observed, err := provision.Observe(ctx, p.session, p.declared, p.memory)
	if err != nil {
		return a.failRemote(ctx, err)
	}
	plan := provision.NewPlan(p.declared, observed, p.memory, provision.PlanOptions{Prune: p.settings.ProvisionPrune})
	if err := a.print(inv.output, plan, func() { provision.WritePlan(a.stdout, plan, a.colours()) }); err != nil {
		return a.fail(err)
	}
	if !plan.Empty() {
		return exitDifferences
	}
	return exitOK
}

// apply provisions the server once.
func (a *app) apply(inv invocation) int {
	p, err := a.provisioner(cmdApply, inv)
	if err != nil {
		return a.fail(err)
	}
	ctx, cancel := a.untilStopped()
	defer cancel()
	result, err := p.apply(ctx, a.progress(inv))
	if err != nil {
		return a.failRemote(ctx, err)
	}
	if err := a.print(inv.output, result, func() { provision.WriteResult(a.stdout, result, a.colours()) }); err != nil {
		return a.fail(err)
	}
	if !result.Provisioned() {
		return exitTempFail
	}
	return exitOK
}

// apply tries again what a forge or a dependency made fail.
func (p *provisioner) apply(ctx context.Context, progress func(c provision.Change, err error, done, all int)) (*provision.Result, error) {
	applier := &provision.Applier{
		API: p.session, Memory: p.memory, Keep: provision.KeepIn(state.NewProvisionFile(p.server.StateDir)), OnChange: progress,
		Options:     provision.PlanOptions{Prune: p.settings.ProvisionPrune},
		OnKeepError: func(err error) { p.log.Warn(err.Error()) },
	}
	total, err := applier.Apply(ctx, p.declared)
	for n, pause := 1, applyPause; err == nil && n < applyTries && total.Later(); n, pause = n+1, 2*pause {
		select {
		case <-ctx.Done():
			return total, nil
		case <-time.After(pause):
		}
		var next *provision.Result
		if next, err = applier.Apply(ctx, p.declared); err == nil {
			total = total.Then(next)
		}
	}
	return total, err
}

// provisioner reads settings and files, and logs nobody in yet.
func (a *app) provisioner(command string, inv invocation) (*provisioner, error) {
	r, s, log, err := a.remote(command, inv)
	if err != nil {
		return nil, err
	}
	who := r.Options.Credentials
	if who.Password == "" {
		return nil, errors.New("cannot log in without a password: set GARM_PASSWORD, or GARM_STATE_DIR to where a generated one is kept")
	}
	client := garmapi.New(garmapi.Options{Server: r.Options.Server, Transport: r.Options.Transport, UserAgent: r.Options.UserAgent})
	p := &provisioner{server: r, settings: s, log: log,
		session: garmapi.NewSession(client, garmapi.SessionOptions{Username: who.Username, Password: who.Password})}
	if command == cmdExport {
		return p, nil
	}
	return p, p.load(inv.args, a.env, command == cmdPlan)
}

// load reads the provision files, and what is remembered of the server. A plan may be made without the secrets.
func (p *provisioner) load(paths []string, env settings.Environment, incomplete bool) error {
	if len(paths) == 0 {
		paths = p.settings.ProvisionPaths()
	}
	if len(paths) == 0 {
		return errors.New("cannot tell what the server is to hold: name provision files, or set GARM_PROVISION")
	}
	var err error
	if p.declared, err = provision.Load(paths, provision.Sources{Variable: env.Get, Incomplete: incomplete}); err != nil {
		return err
	}
	warn(p.log, p.declared.Warnings)
	p.recall()
	return nil
}

func (p *provisioner) recall() {
	var err error
	if p.memory, err = provision.Recall(state.NewProvisionFile(p.server.StateDir)); err != nil {
		p.log.Warn(err.Error())
	}
}

// print writes v as JSON, or lets text write it.
func (a *app) print(output string, v any, text func()) error {
	if output != "json" {
		text()
		return nil
	}
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("cannot write the result: %w", err)
	}
	return nil
}

// failRemote says why a server could not be read, and returns the code for that.
func (a *app) failRemote(ctx context.Context, err error) int {
	if ctx.Err() != nil {
		return a.fail(context.Cause(ctx))
	}
	a.printFaults(err)
	if garmapi.RefusesToken(err) {
		return exitTakeover
	}
	return exitUnavailable
}

// colours reports whether people read standard output on a terminal and did not say NO_COLOR (no-color.org).
func (a *app) colours() bool {
	quiet, _ := a.env.Get("NO_COLOR")
	return quiet == "" && isTerminal(1)
}

// progress is a counter for long work, where people watch it on a terminal; nil: nobody does.
func (a *app) progress(inv invocation) func(c provision.Change, err error, done, all int) {
	if inv.output == "json" || !isTerminal(2) {
		return nil
	}
	return func(_ provision.Change, _ error, done, all int) {
		end := ""
		if done == all {
			end = "\r\x1b[K"
		}
		fmt.Fprintf(a.stderr, "\r%d/%d%s", done, all, end)
	}
}

func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}
