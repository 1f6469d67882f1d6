package initializer

import (
	"context"
	"log/slog"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// watchState is what Watch remembers between two looks.
type watchState struct {
	// trouble is the state that was reported last, empty: none; since when.
	trouble string
	since   time.Time
	// silent is when a look first went without any answer; zero: the last look had one. Counted from a look and not
	// from the last answer, so that a process that was paused for an hour is not declared silent at once.
	silent time.Time
	// drift is the difference that was named last.
	drift string
}

// Watch keeps the server initialised: it asks for the controller once per Interval with the token it has, logs in again
// only when that is refused, runs the whole of Ensure's states when the server lost its admin, and replaces missing and
// placeholder URLs. What people set by hand stays. Each change of state is one log line.
//
// It returns nil when ctx ends, and *UnreachableError when the server gave no answer at all for SilenceLimit.
func (i *Initializer) Watch(ctx context.Context) error {
	if i.opts.Interval <= 0 {
		<-ctx.Done()
		return nil
	}
	for i.idle(ctx) {
		_ = i.lookInTime(ctx, i.opts.SilenceLimit) // which has reported it
		if !i.overdue() {
			continue
		}
		// We may have stood still ourselves, paused while a look was under way: then the server answers now.
		err := i.lookInTime(ctx, min(i.opts.SilenceLimit, lastChance))
		if i.overdue() && ctx.Err() == nil {
			return &UnreachableError{Last: err}
		}
	}
	return nil
}

// renewBefore is how long before its end a token is renewed for those who were given it. garm's tokens live for 24 h at
// least and cannot be refreshed.
const renewBefore = time.Hour

// lastChance bounds the look that decides whether the server is silent.
const lastChance = 5 * time.Second

// overdue reports that the server has been silent for the SilenceLimit.
func (i *Initializer) overdue() bool {
	limit, silent := i.opts.SilenceLimit, i.watch.silent
	return limit > 0 && !silent.IsZero() && time.Since(silent) >= limit
}

// idle waits for the next look, and reports false when ctx ends first.
func (i *Initializer) idle(ctx context.Context) bool {
	if i.opts.OnIdle != nil {
		i.opts.OnIdle()
	}
	return sleep(ctx, jitter(i.opts.Interval))
}

// lookInTime is look, given up after limit (0: never), and notes what came of it.
func (i *Initializer) lookInTime(ctx context.Context, limit time.Duration) error {
	limited := ctx
	if limit > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	start, before := time.Now(), i.client.LastAnswer()
	err := i.look(limited)
	if ctx.Err() != nil {
		return err
	}
	answered := i.client.LastAnswer() != before
	i.report(err, start, answered)
	switch {
	case answered:
		i.watch.silent = time.Time{}
	case i.watch.silent.IsZero():
		i.watch.silent = start
	}
	return err
}

// look asks once, and mends what it may.
func (i *Initializer) look(ctx context.Context) error {
	token := i.session.Token()
	switch {
	case token == "" && i.stranger:
		return i.lookAsStranger(ctx)
	case token == "":
		return i.again(ctx)
	}
	if i.opts.OnToken != nil && garmapi.Expires(token, 2*i.opts.Interval+renewBefore) {
		if err := i.logIn(ctx); err != nil && !lacksAdmin(err) {
			return err
		}
		token = i.session.Token()
	}
	info, settable, err := i.client.ReadController(ctx, token)
	a, garm := garmapi.FromGarm(err)
	switch {
	case err == nil:
	case garmapi.RefusesToken(err):
		i.session.DropToken(token)
		return i.again(ctx)
	case garm && a.Code == 404:
		return errControllerGone
	default:
		return err
	}
	want, _ := supported(i.opts.Want, info, settable)
	fallback, _ := supported(i.opts.Fallback, info, settable)
	have := held(info)
	to := target(want, fallback, have, true)
	if changes := compare(to, have); len(changes) > 0 {
		if err := i.change(ctx, to, have); err != nil {
			return err
		}
		i.log.Info("controller URLs were missing and are set again", slog.String("changes", Changes(changes).String()))
	}
	i.nameDrift(compare(target(want, Controller{}, to, false), to))
	return nil
}

// lookAsStranger is for a server whose admin is not ours: all that can be of use is that it loses him.
func (i *Initializer) lookAsStranger(ctx context.Context) error {
	state, err := i.Probe(ctx)
	if err != nil {
		return err
	}
	if state == NoAdmin {
		return i.again(ctx)
	}
	return i.notOurs()
}

// again goes through Ensure's states once, since the token was refused or the server has no admin.
func (i *Initializer) again(ctx context.Context) error {
	var result Result
	err := i.attempt(ctx, &result)
	if result.AdminCreated {
		i.log.Warn("the server had lost its admin, who is created again", slog.String("user", i.opts.Credentials.Username))
	}
	if len(result.Changed) > 0 && err == nil {
		i.log.Info("controller URLs are set again", slog.String("changes", Changes(result.Changed).String()))
	}
	return err
}

// report turns what a look found into at most one line.
func (i *Initializer) report(err error, start time.Time, answered bool) {
	w := &i.watch
	if err == nil {
		if w.trouble != "" {
			i.log.Info("the server is well again", slog.Duration("after", time.Since(w.since).Round(time.Second)))
		}
		w.trouble = ""
		return
	}
	if state := stateOf(err, answered); state != w.trouble {
		if w.trouble == "" {
			w.since = start
		}
		w.trouble = state
		i.log.Warn("the server is not as it should be", slog.String("reason", err.Error()))
	}
}

// nameDrift says once what differs from the configuration and is left alone.
func (i *Initializer) nameDrift(drift []Change) {
	text := Changes(drift).String()
	if text == i.watch.drift {
		return
	}
	i.watch.drift = text
	if text != "" {
		i.log.Warn("the controller was changed by hand; the configured values come back at the next start", slog.String("drift", text))
	}
}
