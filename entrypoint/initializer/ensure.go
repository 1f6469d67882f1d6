package initializer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// complainAfter is how long a failure may last before it is worth a line.
const complainAfter = 5 * time.Second

// Ensure tries until the server is proven to be initialised, or ctx ends, or trying again cannot help. Its errors are
// *RefusedError, *MismatchError, *TakeoverError, *UnreachableError (ctx ended first) or a failure of
// Options.NewPassword.
//
// The proof comes first: log in; only if that fails the first run, then log in again. Whatever the first run answered,
// the login decides.
func (i *Initializer) Ensure(ctx context.Context) (Result, error) {
	pauses := backoff{start: time.Now()}
	result := Result{DryRun: i.opts.DryRun, Changed: []Change{}}
	var last error
	state, complained := "", ""
	for {
		before := i.client.LastAnswer()
		err := i.attempt(ctx, &result)
		if err == nil {
			i.firstBoot = i.firstBoot && i.opts.DryRun
			return result, nil
		}
		if permanent(err) {
			// Whoever called says it; Watch need not say it again.
			i.watch.trouble, i.watch.since = err.Error(), time.Now()
			return result, err
		}
		answered := i.client.LastAnswer() != before
		// The end of ctx is no news about the server.
		if ctx.Err() == nil || last == nil {
			last, state = err, stateOf(err, answered)
		}
		if time.Since(pauses.start) > complainAfter && state != complained {
			complained = state
			i.log.Warn("still waiting for the server", slog.String("reason", last.Error()))
		}
		i.log.Debug("trying again", slog.Any("error", err))
		if !sleep(ctx, pauses.next(answered)) {
			return result, &UnreachableError{Answered: !i.client.LastAnswer().IsZero(), Last: last}
		}
	}
}

// attempt goes once through the states: log in, create the admin, log in again, settle the controller. The result
// collects what earlier attempts did. A token from an earlier login that the server still takes is that login's proof,
// and saves it the 60 ms of a password hash.
func (i *Initializer) attempt(ctx context.Context, result *Result) error {
	if token := i.session.Token(); token != "" {
		err := i.settle(ctx, result)
		if !garmapi.RefusesToken(err) {
			return err
		}
		i.session.DropToken(token)
	}
	err := i.logIn(ctx)
	if lacksAdmin(err) {
		if i.opts.DryRun {
			return i.dryRun(ctx, result)
		}
		var created bool
		created, err = i.createAdmin(ctx)
		result.AdminCreated = result.AdminCreated || created
	}
	if err != nil {
		return err
	}
	return i.settle(ctx, result)
}

// logIn gets a token: the proof that the admin exists and is ours.
func (i *Initializer) logIn(ctx context.Context) error {
	if err := i.session.LogIn(ctx); err != nil {
		return err
	}
	// What logs in is in force, and stays ours to keep.
	i.stranger, i.ownPassword = false, false
	i.log.Debug("logged in", slog.String("user", i.opts.Credentials.Username))
	return nil
}

// createAdmin sends the first run and logs in. created says that it was our first run that made the admin.
func (i *Initializer) createAdmin(ctx context.Context) (created bool, err error) {
	if i.session.Password() == "" {
		if err := i.makePassword(ctx); err != nil {
			return false, err
		}
	}
	credentials := i.opts.Credentials
	credentials.Password = i.session.Password()
	i.log.Debug("sending the first run")
	firstRun := i.client.FirstRun(ctx, credentials.user())
	if refused := i.refusal(firstRun); refused != nil {
		return false, refused
	}
	i.log.Debug("the first run was answered", slog.Any("error", firstRun))
	login := i.logIn(ctx)
	switch {
	case login == nil:
		// An answer that was lost on its way counts as ours. One that garm gave does not, not even a 500, which is how
		// v0.1.5 may lose a race.
		_, answered := garmapi.FromGarm(firstRun)
		return !answered, nil
	case controllerGone(firstRun, login):
		return false, errControllerGone
	case firstRun != nil && !taken(firstRun):
		// A server in trouble says nothing about whose admin it has.
		return false, firstRun
	case garmapi.Is(login, 401):
		return false, i.notOurs()
	}
	return false, login
}

// refusal returns the typed error of a first run that no retry cures.
func (i *Initializer) refusal(err error) error {
	a, garm := garmapi.FromGarm(err)
	switch {
	case !garm || taken(err):
		return nil
	case a.Code == 400:
		// Every garm looks for an existing admin first, so this is its verdict on the credentials.
		return &RefusedError{What: "the first run", Reason: a.Details, Configuration: true}
	case garmapi.NotRouted(err), a.Code == 403, a.Code == 405, a.Code == 413, a.Code == 422:
		return &RefusedError{What: "the first run", Reason: a.Error()}
	}
	return nil
}

// makePassword gets a password for a server that needs an admin. A server that has one needs none from us: whatever we
// made would never be in force.
func (i *Initializer) makePassword(ctx context.Context) error {
	state, err := i.Probe(ctx)
	switch {
	case err != nil:
		return err
	case state != NoAdmin:
		return i.notOurs()
	case i.opts.NewPassword == nil:
		return &ownError{errors.New("cannot create the admin: the server has none, and no password is configured")}
	}
	password, err := i.opts.NewPassword()
	if err != nil {
		return &ownError{err}
	}
	i.session.SetPassword(password)
	i.ownPassword = true
	return nil
}

// notOurs is the error for an admin that our credentials do not open.
func (i *Initializer) notOurs() error {
	i.stranger = true
	noPassword := i.session.Password() == ""
	if i.ownPassword {
		if i.opts.ForgetPassword != nil {
			if err := i.opts.ForgetPassword(); err != nil {
				i.log.Warn("cannot remove a password that was never in force", slog.Any("error", err))
			}
		}
		i.session.SetPassword("")
		i.ownPassword, noPassword = false, true
	}
	if i.firstBoot {
		return &TakeoverError{Username: i.opts.Credentials.Username}
	}
	return &MismatchError{Username: i.opts.Credentials.Username, NoPassword: noPassword}
}

// settle brings the controller to what was asked: read, compare, one PUT with what differs, read back, compare again.
func (i *Initializer) settle(ctx context.Context, result *Result) error {
	info, settable, err := i.client.ReadController(ctx, i.session.Token())
	if err != nil {
		return err
	}
	result.ControllerID = info.ControllerID.String()
	result.ServerVersion = info.Version
	want, missing := supported(i.opts.Want, info, settable)
	fallback, _ := supported(i.opts.Fallback, info, settable)
	result.Unsupported = missing
	have := held(info)
	to := target(want, fallback, have, false)
	if changes := compare(to, have); len(changes) > 0 {
		result.Changed = changes
		if !i.opts.DryRun {
			if err := i.change(ctx, to, have); err != nil {
				return err
			}
		}
	}
	if result.URLsMissing = lacksURLs(to); result.URLsMissing || i.opts.DryRun {
		return nil
	}
	result.URLsMissing, err = wantsURLs(ctx, i.client, i.session.Token(), to)
	return err
}

// change sends the PUT and reads back what the server made of it.
func (i *Initializer) change(ctx context.Context, to, have Controller) error {
	i.log.Debug("updating the controller")
	if err := i.client.UpdateController(ctx, i.session.Token(), update(to, have)); err != nil {
		if a, garm := garmapi.FromGarm(err); garm && a.Code == 400 {
			return &RefusedError{What: "the controller's new values", Reason: a.Details, Configuration: true}
		}
		return err
	}
	info, _, err := i.client.ReadController(ctx, i.session.Token())
	if err != nil {
		return err
	}
	if left := compare(to, held(info)); len(left) > 0 {
		return fmt.Errorf("the controller did not keep the %s: asked for %q, it holds %q", left[0].Field, left[0].To, left[0].From)
	}
	return nil
}

// dryRun reports for a server that would get an admin.
func (i *Initializer) dryRun(ctx context.Context, result *Result) error {
	state, err := i.Probe(ctx)
	if err != nil {
		return err
	}
	if state != NoAdmin {
		return i.notOurs()
	}
	result.AdminCreated = true
	to := target(i.opts.Want, i.opts.Fallback, Controller{}, false)
	result.Changed = compare(to, Controller{})
	result.URLsMissing = lacksURLs(to)
	return nil
}
