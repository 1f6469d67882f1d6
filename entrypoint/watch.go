package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/boot"
	"garm-entrypoint/entrypoint/initializer"
)

// watch keeps the server at GARM_SERVER initialised until it is signalled.
func (a *app) watch(inv invocation) int {
	r, s, log, err := a.remote(cmdWatch, inv)
	if err != nil {
		return a.fail(err)
	}
	declared, err := loadDeclared(s, a.env, log)
	if err != nil {
		return a.fail(err)
	}
	r.Options.OnAnswer = func() {
		log.Info("the server answers", slog.String("url", r.Options.Server.String()))
	}
	init, err := initializer.New(r.Options)
	if err != nil {
		return a.fail(err)
	}
	ctx, cancel := a.untilStopped()
	defer cancel()
	log.Info("watching", slog.String("url", r.Options.Server.String()))
	init, result, err := r.Ensure(ctx, init)
	switch {
	case ctx.Err() != nil:
		return ended(ctx, log)
	case err == nil:
		attrs := []any{slog.String("result", strings.Join(describeResult(r.Options.Credentials.Username, result), "; "))}
		if kept := r.PasswordFile(); kept != "" {
			attrs = append(attrs, slog.String("password_file", kept))
		}
		log.Info("initialised", attrs...)
	default:
		log.Warn("the server is not initialised as configured: " + err.Error())
	}
	if declared != nil {
		k := boot.NewKeeper(s, r.StateDir, declared, boot.Loader(s.ProvisionPaths(), a.env), log)
		k.API = init.Session()
		defer k.Begin(ctx)()
	}
	if err := init.Watch(ctx); err != nil {
		log.Error(err.Error())
		return exitCodeOf(err)
	}
	return ended(ctx, log)
}

// ended logs what ended the watching, and returns the code for that.
func ended(ctx context.Context, log *slog.Logger) int {
	var stopped *boot.StoppedError
	if !errors.As(context.Cause(ctx), &stopped) {
		return exitOK
	}
	log.Info("stopped", slog.String("signal", unix.SignalName(stopped.Signal)))
	return stopped.ExitCode()
}
