package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/durable"
)

// Remote is a server that others run, and what is needed to reach it.
type Remote struct {
	// Options of the initialiser for it, to which the caller adds what is his: a Logger, what to call.
	Options initializer.Options
	// StateDir is where things are kept; "": nobody said.
	StateDir string
	// keeper of the password, where none is configured; else nil.
	keeper *state.Keeper
}

// ReadConfig reads garm's config where there is one: it may say which server is meant, and what to trust. nil: there is
// none, and none is needed.
func ReadConfig(s settings.Settings) (*garmconfig.Config, error) {
	config, err := garmconfig.Read(s.Config)
	switch {
	case err == nil:
		return config, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case s.Server == "":
		return nil, fmt.Errorf("cannot tell which server to initialise: set GARM_SERVER to its URL: %w", err)
	}
	return nil, nil
}

// New finds out how the server of these settings is reached and trusted; it sends nothing. config is nil where there is
// none.
func New(s settings.Settings, config *garmconfig.Config) (*Remote, error) {
	r := &Remote{}
	if err := r.fill(s, config); err != nil {
		return nil, err
	}
	return r, nil
}

// Unencrypted reports whether a password would travel to another host in the clear.
func (r *Remote) Unencrypted() bool {
	return r.Options.Server.Scheme == "http" && !loopback(r.Options.Server.Hostname())
}

// PasswordFile is where the password is kept, "" when it is configured.
func (r *Remote) PasswordFile() string {
	if r.keeper == nil {
		return ""
	}
	return r.keeper.Path()
}

// Ensure is the initialiser's Ensure, and once more when no password was known and another process has kept one in the
// meantime: whoever shares the place shares the admin.
func (r *Remote) Ensure(ctx context.Context, init *initializer.Initializer) (*initializer.Initializer, initializer.Result, error) {
	result, err := init.Ensure(ctx)
	var mismatch *initializer.MismatchError
	if r.keeper == nil || !errors.As(err, &mismatch) || !mismatch.NoPassword {
		return init, result, err
	}
	options := r.Options
	options.OnAnswer = nil // which it was called for
	kept, loadErr := r.keeper.Load()
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

// fill makes the initialiser's options from the settings. config is nil where there is none.
func (r *Remote) fill(s settings.Settings, config *garmconfig.Config) error {
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
	want, err := s.Controller()
	if err != nil {
		return err
	}
	r.Options = initializer.Options{
		Server:      u,
		Transport:   initializer.NewTransport(trust, proxyFor(u)),
		Credentials: s.Credentials(),
		Want:        want,
		Interval:    s.WatchInterval,
	}
	if config != nil {
		r.Options.Fallback = settings.Fallback(config)
	}
	return r.keepPassword(s, config)
}

// keepPassword finds the password that is kept, or prepares for keeping one.
func (r *Remote) keepPassword(s settings.Settings, config *garmconfig.Config) error {
	dir := s.StateDir
	if dir == "" && config != nil && config.SQLiteFile != "" {
		dir = filepath.Dir(config.SQLiteFile)
	}
	r.StateDir = dir
	if s.Password != "" {
		return nil
	}
	if dir == "" {
		return errors.New("cannot log in without a password: set GARM_PASSWORD, or GARM_STATE_DIR to where a generated one is kept")
	}
	k := state.NewKeeper(dir, initializer.MaxPassword)
	password, err := k.Load()
	if err == nil && password == "" {
		if err = durable.Writable(dir); err != nil {
			err = fmt.Errorf("cannot keep a generated password (set GARM_PASSWORD, or GARM_STATE_DIR to a writable directory): %w", err)
		}
	}
	r.keeper = k
	r.Options.Credentials.Password = password
	r.Options.NewPassword, r.Options.ForgetPassword = k.Create, k.Forget
	return err
}
