package boot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"garm-entrypoint/entrypoint/initializer"
)

// holdAlone is how long SIGHUP is held from a garm that nobody initialises. It would kill a garm younger than 0.1 s
// (v0.2.1), which has no handler yet.
const holdAlone = time.Second

// Run takes garm from its start to its end. It is the state machine of the main job:
//
//	[guarded → proven →] started → up → initialised → watched → stopped
//
// The child's end leads to stopped from anywhere; a stop signal ends the child. The part in brackets is in guard.go.
//
// It returns garm's exit code or, when it was not garm that decided, why: an error of the initialiser, or one with an
// ExitCode of its own. Whatever it returns is in the log by then.
func (b *Boot) Run() (int, error) {
	if !b.plan.settings.Init {
		b.command.HoldFor = holdAlone
	}
	b.manager.starting(b.plan.settings.StartTimeout, "starting garm")
	if b.oneShot || b.plan.guarded() {
		if code, proven, err := b.guard(); !proven || b.oneShot {
			return code, err
		}
	}
	b.log.Info("starting garm", slog.String("binary", b.command.Path), slog.String("config", b.plan.config.Path))
	g, err := b.start(b.command, b.plan.config.BaseURL())
	if err != nil {
		return 0, b.notStarted(err)
	}
	if err := b.attend(g, b.initialise); err != nil {
		return 0, err
	}
	return g.Status().Code(), nil
}

// initialise returns an error only for what must stop garm.
func (b *Boot) initialise(ctx context.Context, g *garm) error {
	if !b.plan.settings.Init {
		b.log.Info("initialising is switched off (GARM_INIT=false)")
		b.manager.ready("garm was started; initialising is switched off")
		return nil
	}
	i, err := b.initializer(g)
	if err != nil {
		return err
	}
	result, err := b.ensure(ctx, i)
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		b.proven()
		if !b.guardProven {
			b.sayAdmin(result)
		}
		b.sayController(result)
		b.sayReady(g, result)
	case b.fatal(err):
		b.sayFatal(err)
		return err
	default:
		b.log.Warn("garm serves, but it is not initialised as configured: "+err.Error(), slog.String("cure", b.cure(err)))
		b.manager.ready("garm serves, but it is not initialised as configured: " + err.Error())
	}
	defer b.provision(ctx, i)()
	if err := i.Watch(ctx); err != nil {
		b.log.Error("stopping garm, so that it is started again: "+err.Error(), slog.Duration("silent", b.plan.settings.APITimeout))
		b.manager.stopping(b.command.StopTimeout, "stopping garm: "+err.Error())
		return err
	}
	return nil
}

// fatal reports whether garm has to be stopped: always when its API never came up; for everything else only while its
// database is new. A server that was initialised before is never stopped because our credentials or wishes do not fit.
func (b *Boot) fatal(err error) bool {
	var unreachable *initializer.UnreachableError
	if errors.As(err, &unreachable) && !unreachable.Answered {
		return true
	}
	return b.plan.newDatabase
}
