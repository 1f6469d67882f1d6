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

// Boot takes garm from its start to its end. It is the state machine of the
// main job:
//
//	[guarded → proven →] started → up → initialised → watched → stopped
//
// The child's end leads to stopped from anywhere; a stop signal ends the child.
// The part in brackets is in guard.go.
type Boot struct {
	plan      *Plan
	profile   *cliProfile // nil: none is kept
	log       *slog.Logger
	sup       *supervisor.Supervisor
	manager   serviceManager
	command   supervisor.Command
	userAgent string
	// began is when the first garm was started: GARM_START_TIMEOUT counts
	// from there.
	began time.Time
	// token of the guarded boot's login.
	token string
	// guardProven: the guarded boot has said who the admin is.
	guardProven bool
	// oneShot: nobody but an init container's successor starts the real garm.
	oneShot bool
	// What is said once, whichever garm it is said of.
	saidUnsupported, saidRenewed bool
}

// garm is one start of it.
type garm struct {
	*supervisor.Child
	url     string
	started time.Time
	// answered is closed at the API's first answer.
	answered chan struct{}
	// ready: it was said to be, before it ended.
	ready bool
	// files is its limit of open files.
	files uint64
}

// holdAlone is how long SIGHUP is held from a garm that nobody initialises. It
// would kill a garm younger than 0.1 s (v0.2.1), which has no handler yet.
const holdAlone = time.Second

// Run takes garm from its start to its end. It returns garm's exit code or, when it was not garm that decided, why: an
// error of the initialiser, or one with an ExitCode of its own. Whatever it returns is in the log by then.
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

// attend runs side by side: garm, who ends it, and the initialiser. The first
// of them to be done ends the others. It returns the initialiser's error when
// garm has ended.
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

// awaitEnd waits for the child's end, and says when it was asked for. The
// supervisor has forwarded the signal by then; what is left to do is to hang up
// at once, since a request under way holds garm's shutdown for up to 60 s.
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
	// What a look needed is not needed again for a while, and we live as long
	// as the server.
	debug.FreeOSMemory()
}

func after(t time.Time) slog.Attr {
	return slog.Duration("after", time.Since(t).Round(time.Millisecond))
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

// fatal reports whether garm has to be stopped: always when its API never
// came up; for everything else only while its database is new. A server that
// was initialised before is never stopped because our credentials or wishes do
// not fit.
func (b *Boot) fatal(err error) bool {
	var unreachable *initializer.UnreachableError
	if errors.As(err, &unreachable) && !unreachable.Answered {
		return true
	}
	return b.plan.newDatabase
}

// sayFatal says why garm is stopped. A password that was made for this boot and
// never came into force is not left behind to mislead.
func (b *Boot) sayFatal(err error) {
	b.log.Error("stopping garm: "+err.Error(), slog.String("cure", b.cure(err)))
	b.manager.stopping(b.command.StopTimeout, "stopping garm: "+err.Error())
	var takeover *initializer.TakeoverError
	if errors.As(err, &takeover) && b.plan.makePassword {
		if err := b.plan.keeper.Forget(); err != nil {
			b.log.Warn(err.Error())
		}
	}
}
