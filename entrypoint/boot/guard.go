package boot

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/supervisor"
)

// GuardOld bounds, from the server's first answer, a guarded boot that was asked for on a database that is not new. The
// derived config has no providers, and pools whose provider is missing fail what they try; garm v0.2.1 lets them try
// nothing in the first 5 s (runner/common: PoolConsilitationInterval).
const GuardOld = 4 * time.Second

// errProven ends a guarded garm: it is initialised.
var errProven = errors.New("initialised")

// guard runs garm on a loopback address only, until it is initialised, and stops it. proven is false when it ended
// otherwise, with that code or error.
func (b *Boot) guard() (code int, proven bool, err error) {
	address, err := freeLoopback()
	if err != nil {
		b.log.Error(err.Error())
		return 0, false, &SoftwareError{err}
	}
	b.log.Info("first boot: garm starts on a loopback address only, until it is initialised", slog.String("address", address.String()))
	g, err := b.startGuarded(address)
	if err != nil {
		return 0, false, b.notStarted(err)
	}
	switch err := b.attend(g, b.initialiseGuarded); {
	case errors.Is(err, errProven):
		if code := g.Status().Code(); code != 0 {
			b.log.Warn("garm did not stop cleanly after its first boot, and is started all the same", slog.Int("code", code))
		}
		return 0, true, nil
	case err != nil:
		return 0, false, err
	case b.sup.StopSignal() != 0:
		// Whatever this garm ended with: the real one was never started.
		return 0, false, b.notStarted(&supervisor.StopRequestedError{Signal: b.sup.StopSignal()})
	}
	return g.Status().Code(), false, nil
}

// startGuarded hands the derived config over through a pipe. It holds secrets, so it is neither a file nor a memory
// file, which garm's children would inherit readable; a pipe is empty once garm has read it.
func (b *Boot) startGuarded(address netip.AddrPort) (*garm, error) {
	config, err := b.plan.config.Loopback(address)
	if err != nil {
		return nil, err
	}
	r, err := pipeOf(config)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := b.command
	cmd.Files = []*os.File{r}
	cmd.Args = slices.Clone(cmd.Args)
	cmd.Args[slices.Index(cmd.Args, "--config")+1] = pipedConfig
	return b.start(cmd, b.plan.config.URLAt(address.String()))
}

// initialiseGuarded returns errProven when the server is initialised, another error for what must not go on, and nil
// when garm ended first.
func (b *Boot) initialiseGuarded(ctx context.Context, g *garm) error {
	i, err := b.initializer(g)
	if err != nil {
		return err
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if !b.plan.newDatabase {
		go func() {
			select {
			case <-g.answered:
				time.AfterFunc(GuardOld, cancel)
			case <-limited.Done():
			}
		}()
	}
	result, err := b.ensure(limited, i)
	var mismatch *initializer.MismatchError
	switch {
	case ctx.Err() != nil:
		return nil
	case err == nil:
		b.guardProven, b.token = true, i.Token()
		b.sayAdmin(result)
		b.sayController(result)
		b.proven()
	case errors.As(err, &mismatch) && !b.plan.newDatabase:
		// It has an admin, so there is nothing to guard. What is wrong is said when the real one serves, if we are to
		// start it.
		if b.oneShot {
			b.log.Warn("the server is not initialised as configured: "+err.Error(), slog.String("cure", b.cure(err)))
		}
	default:
		b.sayFatal(err)
		return err
	}
	next := "garm is stopped, to be started on its real address"
	if b.oneShot {
		next = "garm is stopped"
	}
	b.log.Info("first boot done: "+next, after(g.started))
	return errProven
}
