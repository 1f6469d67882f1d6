package boot

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/image"
	"garm-entrypoint/internal/durable"
)

// Plan is everything that a run needs to know before garm starts. Making it finds every fault; carrying it out (writing
// what has to be generated) comes after, so that a refused start changes nothing.
type Plan struct {
	settings settings.Settings
	config   *garmconfig.Config
	// generated is the config to be written; nil: there is one.
	generated []byte
	// newDatabase: the database counts as new. Its file is missing or empty, or the mark of a first boot stands that
	// has not been proven yet.
	newDatabase bool
	mark        state.Mark
	keeper      *state.Keeper
	password    string
	// makePassword: one has to be generated before garm starts.
	makePassword bool
	want         initializer.Controller
	certificate  *x509.Certificate
	// declared is what the provision files say; nil: there are none. load reads them anew.
	declared *provision.Declared
	load     func() (*provision.Declared, error)
}

// Look looks at everything that a run with these settings depends on, and writes nothing. All faults are in the one
// error. The environment is for secrets that provision files name.
func Look(s settings.Settings, env settings.Environment) (*Plan, error) {
	p := &Plan{settings: s, password: s.Password, keeper: &state.Keeper{}}
	if err := p.readConfig(); err != nil {
		return nil, err
	}
	var faults []error
	var err error
	if p.newDatabase, err = p.config.DatabaseIsNew(); err != nil {
		faults = append(faults, err)
	}
	if p.want, err = s.Controller(); err != nil {
		faults = append(faults, err)
	}
	if p.config.TLS {
		if p.certificate, err = p.config.Leaf(); err != nil {
			faults = append(faults, err)
		}
	}
	if s.Init {
		faults = append(faults, p.planProvisioning(env), p.planState())
	} else if dir := p.stateDir(); dir != "" {
		p.mark = state.NewMark(dir)
	}
	if _, err := os.Stat(filepath.Dir(pipedConfig)); err != nil && p.guarded() {
		faults = append(faults, fmt.Errorf("cannot guard the first boot without /proc, through which garm gets its config: mount it, or set GARM_FIRST_BOOT=%s", settings.FirstBootOpen))
	}
	return p, errors.Join(faults...)
}

// readConfig reads garm's config or prepares one.
func (p *Plan) readConfig() error {
	path := p.settings.Config
	config, err := garmconfig.Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		p.config = config
		return err
	}
	dir := filepath.Dir(path)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("cannot read %s: it is a link to nowhere", path)
	}
	database := filepath.Join(dir, image.DatabaseFile)
	if _, err := os.Lstat(database); err == nil {
		return fmt.Errorf("cannot generate %s: %s exists, and a new passphrase would make it unreadable; restore the config that belongs to it, or move the database away", path, database)
	}
	if err := durable.Writable(dir); err != nil {
		return fmt.Errorf("cannot generate %s, which does not exist (set GARM_CONFIG to the path of an existing one): %w", path, err)
	}
	if p.generated, err = image.DefaultConfig(dir); err != nil {
		return fmt.Errorf("cannot generate %s: %w", path, err)
	}
	p.config, err = garmconfig.Parse(path, p.generated)
	return err
}

// stateDir is where things are kept, "" when nobody said and there is no sqlite file to keep them beside.
func (p *Plan) stateDir() string {
	if p.settings.StateDir == "" && p.config.SQLiteFile != "" {
		return filepath.Dir(p.config.SQLiteFile)
	}
	return p.settings.StateDir
}

// planState finds out what is kept and what has to be.
func (p *Plan) planState() error {
	dir := p.stateDir()
	if dir == "" {
		if p.password == "" {
			return errors.New("cannot keep a generated password: the database is not sqlite, so set GARM_STATE_DIR or GARM_PASSWORD")
		}
		return nil
	}
	p.keeper, p.mark = state.NewKeeper(dir, initializer.MaxPassword), state.NewMark(dir)
	stands, err := p.mark.Stands()
	p.newDatabase = p.newDatabase || stands
	if p.newDatabase && err == nil {
		if err = durable.Writable(dir); err != nil {
			err = fmt.Errorf("cannot keep the state of a first boot (GARM_STATE_DIR names another directory for it): %w", err)
		}
	}
	if p.password == "" {
		var kept error
		p.password, kept = p.keeper.Load()
		err = errors.Join(err, kept)
		p.makePassword = p.newDatabase && p.password == ""
	}
	return err
}

// guarded reports whether garm first runs on a loopback address only.
func (p *Plan) guarded() bool {
	if !p.settings.Init {
		return false
	}
	return p.settings.FirstBoot == settings.FirstBootGuarded || p.settings.FirstBoot == settings.FirstBootAuto && p.newDatabase
}

// passwordKept reports whether the password in use is the kept one.
func (p *Plan) passwordKept() bool { return p.settings.Password == "" }

// Config is garm's config, read or to be generated.
func (p *Plan) Config() *garmconfig.Config { return p.config }

// renewed reports whether the certificate's file holds another one by now. garm reads it once: neither rotation on disk
// nor SIGHUP changes what it serves.
func (p *Plan) renewed() bool {
	if p.certificate == nil {
		return false
	}
	leaf, err := p.config.Leaf()
	return err == nil && !leaf.Equal(p.certificate)
}
