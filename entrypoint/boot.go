package main

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/supervisor"
)

// boot takes garm from its start to its end. It is the state machine of the
// main job:
//
//	starting → up → initialised → watched → stopping → stopped
//
// The child's end leads to stopped from anywhere, a stop signal to stopping.
type boot struct {
	plan    *plan
	profile *cliProfile // nil: none is kept
	log     *slog.Logger
	sup     *supervisor.Supervisor
	command supervisor.Command
	// start of our own process, started of the child.
	start, started time.Time
	child          *supervisor.Child
}

// holdAlone is how long SIGHUP is held from a garm that nobody initialises. It
// would kill a garm younger than 0.1 s (v0.2.1), which has no handler yet.
const holdAlone = time.Second

// run returns the exit code.
func (b *boot) run() int {
	b.command.Hold = []syscall.Signal{syscall.SIGHUP}
	if !b.plan.settings.Init {
		b.command.HoldFor = holdAlone
	}
	b.log.Info("starting garm", slog.String("binary", b.command.Path), slog.String("config", b.plan.config.Path))
	child, err := b.sup.Start(b.command)
	if err != nil {
		return b.notStarted(err)
	}
	b.child, b.started = child, time.Now()
	// Side by side: garm, who ends it, and the initialiser. The first of them
	// to be done ends the others' context.
	group, ctx := errgroup.WithContext(context.Background())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() error {
		defer cancel()
		b.awaitEnd(ctx)
		return nil
	})
	group.Go(func() error { return b.initialise(ctx) })
	err = group.Wait()
	status := child.Status()
	b.log.Info("garm has stopped", slog.String("status", status.String()), slog.Duration("ran", time.Since(b.started).Round(time.Millisecond)))
	if err != nil {
		return exitCodeOf(err)
	}
	return status.Code()
}

// notStarted logs why there is no garm and returns the code.
func (b *boot) notStarted(err error) int {
	var start *supervisor.StartError
	var stopped *supervisor.StopRequestedError
	switch {
	case errors.As(err, &stopped):
		b.log.Info("garm was not started: asked to stop", slog.String("signal", unix.SignalName(stopped.Signal)))
		return stopped.ExitCode()
	case errors.As(err, &start):
		b.log.Error(err.Error())
		return start.ExitCode()
	}
	b.log.Error(err.Error())
	return exitSoftware
}

// awaitEnd waits for the child's end, and says when it was asked for. The
// supervisor has forwarded the signal by then; what is left to do is to hang up
// at once, since a request under way holds garm's shutdown for up to 60 s.
func (b *boot) awaitEnd(ctx context.Context) {
	select {
	case <-b.child.Done():
	case <-b.sup.StopRequested():
		b.log.Info("stopping garm", slog.String("signal", unix.SignalName(b.sup.StopSignal())), slog.Duration("timeout", b.command.StopTimeout))
	case <-ctx.Done():
		// The initialiser failed and has said why.
		b.child.Stop()
	}
}

// initialise returns an error only for what must stop garm.
func (b *boot) initialise(ctx context.Context) error {
	if !b.plan.settings.Init {
		b.log.Info("initialising is switched off (GARM_INIT=false)")
		return nil
	}
	options, err := b.plan.options()
	if err == nil {
		options.Logger = b.log
		options.OnAnswer = b.up
		if b.profile != nil {
			options.OnToken = b.profile.save
		}
		var init *initializer.Initializer
		if init, err = initializer.New(options); err == nil {
			return b.keepInitialised(ctx, init)
		}
	}
	b.log.Error(err.Error())
	return err
}

// up is called at the server's first answer.
func (b *boot) up() {
	b.child.Release()
	b.log.Info("garm's API is up", slog.String("url", b.plan.config.BaseURL()), after(b.started))
}

func after(t time.Time) slog.Attr {
	return slog.Duration("after", time.Since(t).Round(time.Millisecond))
}

// keepInitialised goes from up to initialised, and then watches.
func (b *boot) keepInitialised(ctx context.Context, init *initializer.Initializer) error {
	result, err := b.ensure(ctx, init)
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		b.sayReady(result)
	case b.fatal(err):
		b.log.Error("stopping garm: "+err.Error(), slog.String("cure", b.cure(err)))
		return err
	default:
		b.log.Warn("garm serves, but it is not initialised as configured: "+err.Error(), slog.String("cure", b.cure(err)))
	}
	// What initialising needed is not needed again: give it back, since we
	// live as long as the server.
	debug.FreeOSMemory()
	if err := init.Watch(ctx); err != nil {
		b.log.Error("stopping garm, so that it is started again: "+err.Error(), slog.Duration("silent", b.plan.settings.APITimeout))
		return err
	}
	return nil
}

// ensure is bounded by GARM_START_TIMEOUT.
func (b *boot) ensure(ctx context.Context, init *initializer.Initializer) (initializer.Result, error) {
	if limit := b.plan.settings.StartTimeout; limit > 0 {
		deadline, cancel := context.WithDeadline(ctx, b.started.Add(limit))
		defer cancel()
		return init.Ensure(deadline)
	}
	return init.Ensure(ctx)
}

// fatal reports whether garm has to be stopped: always when its API never
// came up; for everything else only while its database is new. A server that
// was initialised before is never stopped because our credentials or wishes do
// not fit.
func (b *boot) fatal(err error) bool {
	var unreachable *initializer.UnreachableError
	if errors.As(err, &unreachable) && !unreachable.Answered {
		return true
	}
	return b.plan.newDatabase
}
