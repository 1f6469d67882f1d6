package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/durable"
)

// remote is what init and watch need to reach a server that others run.
type remote struct {
	options initializer.Options
	log     *slog.Logger
	// keeper of the password, where none is configured.
	keeper *keeper
}

// initialise brings the server at GARM_SERVER to the initialised state, once.
func (a *app) initialise(inv invocation) int {
	r, s, err := a.remote(cmdInit, inv)
	if err != nil {
		return a.fail(err)
	}
	r.options.DryRun = inv.dryRun
	init, err := initializer.New(r.options)
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
	_, result, err := r.ensure(ctx, init)
	switch {
	case err != nil && stopped.Err() != nil:
		return a.fail(context.Cause(stopped))
	case err != nil:
		a.printFaults(err)
		return exitCodeOf(err)
	}
	if inv.output == "json" {
		if err := json.NewEncoder(a.stdout).Encode(result); err != nil {
			return a.fail(fmt.Errorf("cannot write the result: %w", err))
		}
		return exitOK
	}
	for _, line := range describeResult(s.Username, result) {
		fmt.Fprintln(a.stdout, line)
	}
	if r.keeper != nil && !result.DryRun {
		fmt.Fprintln(a.stdout, "password: kept in "+r.keeper.path)
	}
	return exitOK
}

// ensure is Ensure, and once more when no password was known and another process
// has kept one in the meantime: whoever shares the place shares the admin.
func (r *remote) ensure(ctx context.Context, init *initializer.Initializer) (*initializer.Initializer, initializer.Result, error) {
	result, err := init.Ensure(ctx)
	var mismatch *initializer.MismatchError
	if r.keeper == nil || !errors.As(err, &mismatch) || !mismatch.NoPassword {
		return init, result, err
	}
	options := r.options
	options.OnAnswer = nil // which it was called for
	kept, loadErr := r.keeper.load()
	if options.Credentials.Password = kept; loadErr != nil || kept == "" {
		return init, result, err
	}
	again, newErr := initializer.New(options)
	if newErr != nil {
		return init, result, newErr
	}
	result, err = again.Ensure(ctx)
	return again, result, err
}

// describeResult is the result for people.
func describeResult(user string, r initializer.Result) []string {
	did := func(done, would string) string {
		if r.DryRun {
			return would
		}
		return done
	}
	lines := []string{fmt.Sprintf("server: garm %s, controller %s", orUnknown(r.ServerVersion), r.ControllerID)}
	if r.ControllerID == "" {
		lines[0] = "server: garm, not initialised"
	}
	if r.AdminCreated {
		lines = append(lines, fmt.Sprintf("admin %s: %s", user, did("created", "would be created")))
	} else {
		lines = append(lines, fmt.Sprintf("admin %s: already there", user))
	}
	for _, c := range r.Changed {
		lines = append(lines, fmt.Sprintf("%s: %s from %q to %q", c.Field, did("changed", "would change"), c.From, c.To))
	}
	if len(r.Changed) == 0 {
		lines = append(lines, "controller URLs: nothing to change")
	}
	for _, u := range r.Unsupported {
		lines = append(lines, u+": this garm cannot hold it")
	}
	if r.URLsMissing {
		lines = append(lines, "warning: no metadata and callback URL, so runners cannot report: set GARM_BASE_URL")
	}
	return lines
}

// watch keeps the server at GARM_SERVER initialised until it is signalled.
func (a *app) watch(inv invocation) int {
	r, _, err := a.remote(cmdWatch, inv)
	if err != nil {
		return a.fail(err)
	}
	r.options.OnAnswer = func() {
		r.log.Info("the server answers", slog.String("url", r.options.Server.String()))
	}
	init, err := initializer.New(r.options)
	if err != nil {
		return a.fail(err)
	}
	ctx, cancel := a.untilStopped()
	defer cancel()
	r.log.Info("watching", slog.String("url", r.options.Server.String()))
	init, result, err := r.ensure(ctx, init)
	switch {
	case ctx.Err() != nil:
		return r.ended(ctx)
	case err == nil:
		attrs := []any{slog.String("result", strings.Join(describeResult(r.options.Credentials.Username, result), "; "))}
		if r.keeper != nil {
			attrs = append(attrs, slog.String("password_file", r.keeper.path))
		}
		r.log.Info("initialised", attrs...)
	default:
		r.log.Warn("the server is not initialised as configured: " + err.Error())
	}
	if err := init.Watch(ctx); err != nil {
		r.log.Error(err.Error())
		return exitCodeOf(err)
	}
	return r.ended(ctx)
}

// ended logs what ended the watching, and returns the code for that.
func (r *remote) ended(ctx context.Context) int {
	var stopped *stoppedError
	if !errors.As(context.Cause(ctx), &stopped) {
		return exitOK
	}
	r.log.Info("stopped", slog.String("signal", unix.SignalName(stopped.signal)))
	return stopped.ExitCode()
}

// untilStopped returns a context that ends at a stop signal, with that as its
// cause.
func (a *app) untilStopped() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(ctx, a.signals.Wake)
	go func() {
		for ctx.Err() == nil {
			a.signals.Wait(time.Time{})
			// Any other, SIGHUP included, means nothing here: there are no logs to rotate.
			switch next, _ := a.signals.Next(); next.Signal {
			case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT:
				cancel(&stoppedError{next.Signal})
			}
			a.signals.ReapingNow() // we have no children, and a stray SIGCHLD must not end each Wait
		}
	}()
	return ctx, func() { cancel(nil) }
}

// stoppedError says that a signal ended what was going on.
type stoppedError struct{ signal syscall.Signal }

// ExitCode is 128+N, as a shell would report it.
func (e *stoppedError) ExitCode() int { return 128 + int(e.signal) }

func (e *stoppedError) Error() string { return "stopped by " + unix.SignalName(e.signal) }

// remote reads the settings of init and watch.
func (a *app) remote(command string, inv invocation) (*remote, settings, error) {
	s, warnings, err := readSettings(command, inv.flags, a.env)
	if err != nil {
		return nil, s, err
	}
	config, err := garmconfig.Read(s.Config)
	if err != nil && (s.Server == "" || !errors.Is(err, fs.ErrNotExist)) {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("cannot tell which server to initialise: set GARM_SERVER to its URL: %w", err)
		}
		return nil, s, err
	}
	r := &remote{}
	level, format := "", ""
	if config != nil {
		level, format = config.LogLevel, config.LogFormat
	}
	r.log = a.logger(s, level, format)
	warn(r.log, warnings)
	if err := r.fill(s, config); err != nil {
		return nil, s, err
	}
	r.options.Logger = r.log
	if u := r.options.Server; u.Scheme == "http" && !loopback(u.Hostname()) {
		r.log.Warn("the password travels unencrypted: use https for a server beyond this host", slog.String("url", u.String()))
	}
	return r, s, nil
}

// fill makes the initialiser's options from the settings. config is nil where
// there is none.
func (r *remote) fill(s settings, config *garmconfig.Config) error {
	server := s.Server
	if server == "" {
		server = config.BaseURL()
	}
	u, err := url.Parse(server)
	if err != nil {
		return errors.New("cannot use GARM_SERVER: it is not a URL")
	}
	trust, err := serverTrust(s, config)
	if err != nil {
		return err
	}
	want, err := s.controller()
	if err != nil {
		return err
	}
	r.options = initializer.Options{
		Server:      u,
		Transport:   initializer.NewTransport(trust, proxyFor(u)),
		UserAgent:   userAgent(),
		Credentials: s.credentials(),
		Want:        want,
		Interval:    s.WatchInterval,
	}
	if config != nil {
		r.options.Fallback = fallback(config)
	}
	return r.keepPassword(s, config)
}

// keepPassword finds the password that is kept, or prepares for keeping one.
func (r *remote) keepPassword(s settings, config *garmconfig.Config) error {
	if s.Password != "" {
		return nil
	}
	dir := s.StateDir
	if dir == "" && config != nil && config.SQLiteFile != "" {
		dir = filepath.Dir(config.SQLiteFile)
	}
	if dir == "" {
		return errors.New("cannot log in without a password: set GARM_PASSWORD, or GARM_STATE_DIR to where a generated one is kept")
	}
	k := newKeeper(dir)
	password, err := k.load()
	if err == nil && password == "" {
		if err = durable.Writable(dir); err != nil {
			err = fmt.Errorf("cannot keep a generated password (set GARM_PASSWORD, or GARM_STATE_DIR to a writable directory): %w", err)
		}
	}
	r.keeper = k
	r.options.Credentials.Password = password
	r.options.NewPassword, r.options.ForgetPassword = k.create, k.forget
	return err
}

// serverTrust is GARM_SERVER_CA, else the certificate in garm's config, else
// the system's roots.
func serverTrust(s settings, config *garmconfig.Config) (initializer.Trust, error) {
	switch {
	case s.ServerCA != "":
		data, err := readFile(s.ServerCA, maxPEMFile)
		if err != nil {
			return initializer.Trust{}, fmt.Errorf("cannot read GARM_SERVER_CA %s: %w", s.ServerCA, err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(data) {
			return initializer.Trust{}, fmt.Errorf("cannot use GARM_SERVER_CA %s: it holds no PEM certificate", s.ServerCA)
		}
		return initializer.Trust{Roots: roots}, nil
	case config != nil && config.TLS:
		leaf, err := readLeaf(config.Certificate)
		return initializer.Trust{Certificate: leaf}, err
	}
	return initializer.Trust{}, nil
}

// proxyFor: a server on this host is never asked through a proxy.
func proxyFor(u *url.URL) func(*http.Request) (*url.URL, error) {
	if loopback(u.Hostname()) {
		return nil
	}
	return http.ProxyFromEnvironment
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
