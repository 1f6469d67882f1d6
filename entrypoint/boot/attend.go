package boot

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/postmortem"
	"garm-entrypoint/supervisor"
)

func (b *Boot) start(cmd supervisor.Command, url string) (*garm, error) {
	child, err := b.sup.Start(cmd)
	if err != nil {
		return nil, err
	}
	g := &garm{Child: child, url: url, started: time.Now(), answered: make(chan struct{}), files: postmortem.FilesOf(child.Pid())}
	if b.began.IsZero() {
		b.began = g.started
	}
	return g, nil
}

// notStarted logs why there is no garm, and returns it as what has an exit code.
func (b *Boot) notStarted(err error) error {
	var coded interface{ ExitCode() int } // a program that cannot be run, a signal
	var stopped *supervisor.StopRequestedError
	if errors.As(err, &stopped) {
		b.log.Info("garm was not started: asked to stop", slog.String("signal", unix.SignalName(stopped.Signal)))
		return stopped
	}
	b.log.Error(err.Error())
	if errors.As(err, &coded) {
		return err
	}
	return &SoftwareError{err}
}

// attend runs side by side: garm, who ends it, and the initialiser. The first of them to be done ends the others. It
// returns the initialiser's error when garm has ended.
func (b *Boot) attend(g *garm, initialise func(context.Context, *garm) error) error {
	group, ctx := errgroup.WithContext(context.Background())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group.Go(func() error {
		defer cancel()
		b.awaitEnd(ctx, g)
		return nil
	})
	group.Go(func() error { return initialise(ctx, g) })
	err := group.Wait()
	b.sayEnded(g, err)
	return err
}

// awaitEnd waits for the child's end, and says when it was asked for. The supervisor has forwarded the signal by then;
// what is left to do is to hang up at once, since a request under way holds garm's shutdown for up to 60 s.
func (b *Boot) awaitEnd(ctx context.Context, g *garm) {
	select {
	case <-g.Done():
	case <-b.sup.StopRequested():
		b.log.Info("stopping garm", slog.String("signal", unix.SignalName(b.sup.StopSignal())), slog.Duration("timeout", b.command.StopTimeout))
		b.manager.stopping(b.command.StopTimeout, "stopping garm")
	case <-ctx.Done():
		// The initialiser is done with this garm and has said why.
		g.Stop()
	}
}

// initializer for one garm.
func (b *Boot) initializer(g *garm) (*initializer.Initializer, error) {
	options, err := b.plan.options(g.url, g.Pid(), b.userAgent)
	if err != nil {
		b.log.Error(err.Error())
		return nil, err
	}
	options.Logger = b.log
	options.OnIdle = b.idle
	options.OnAnswer = func() {
		g.Release()
		close(g.answered)
		b.log.Info("garm's API is up", slog.String("url", g.url), after(g.started))
	}
	options.Token = b.token
	if b.profile != nil {
		options.OnToken = b.profile.save
	}
	i, err := initializer.New(options)
	if err != nil {
		b.log.Error(err.Error())
	}
	return i, err
}

// idle is called before each wait for the next look.
func (b *Boot) idle() {
	if !b.saidRenewed && b.plan.renewed() {
		b.saidRenewed = true
		b.log.Warn("the server's certificate was renewed on disk; garm serves the old one until it is restarted", slog.String("path", b.plan.config.Certificate))
	}
	// What a look needed is not needed again for a while, and we live as long as the server.
	debug.FreeOSMemory()
}

// ensure is bounded by GARM_START_TIMEOUT.
func (b *Boot) ensure(ctx context.Context, i *initializer.Initializer) (initializer.Result, error) {
	if limit := b.plan.settings.StartTimeout; limit > 0 {
		deadline, cancel := context.WithDeadline(ctx, b.began.Add(limit))
		defer cancel()
		return i.Ensure(deadline)
	}
	return i.Ensure(ctx)
}

// proven ends the first boot: the login that just worked is the proof.
func (b *Boot) proven() {
	if !b.plan.newDatabase {
		return
	}
	b.plan.newDatabase = false
	if err := b.plan.mark.Remove(); err != nil {
		b.log.Warn("the next start will be a guarded first boot again: " + err.Error())
	}
}
