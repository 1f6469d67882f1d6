package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/image"
	"garm-entrypoint/internal/durable"
	"garm-entrypoint/internal/listener"
)

// plan is everything that a run needs to know before garm starts. Making it
// finds every fault; carrying it out (writing what has to be generated) comes
// after, so that a refused start changes nothing.
type plan struct {
	settings settings
	config   *garmconfig.Config
	// generated is the config to be written; nil: there is one.
	generated []byte
	// newDatabase: the database counts as new. Its file is missing or empty,
	// or the mark of a first boot stands that has not been proven yet.
	newDatabase bool
	mark        mark
	keeper      *keeper
	password    string
	// makePassword: one has to be generated before garm starts.
	makePassword bool
	want         initializer.Controller
	certificate  *x509.Certificate
}

// makePlan looks at everything and writes nothing.
func makePlan(s settings) (*plan, error) {
	p := &plan{settings: s, password: s.Password, keeper: &keeper{}}
	if err := p.readConfig(); err != nil {
		return nil, err
	}
	var faults []error
	var err error
	if p.newDatabase, err = p.config.DatabaseIsNew(); err != nil {
		faults = append(faults, err)
	}
	if p.want, err = s.controller(); err != nil {
		faults = append(faults, err)
	}
	if p.config.TLS {
		if p.certificate, err = readLeaf(p.config.Certificate); err != nil {
			faults = append(faults, err)
		}
	}
	if s.Init {
		faults = append(faults, p.planState())
	} else if dir := p.stateDir(); dir != "" {
		p.mark = newMark(dir)
	}
	if _, err := os.Stat(filepath.Dir(pipedConfig)); err != nil && p.guarded() {
		faults = append(faults, fmt.Errorf("cannot guard the first boot without /proc, through which garm gets its config: mount it, or set GARM_FIRST_BOOT=%s", firstBootOpen))
	}
	return p, errors.Join(faults...)
}

// readConfig reads garm's config or prepares one.
func (p *plan) readConfig() error {
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

// stateDir is where things are kept, "" when nobody said and there is no sqlite
// file to keep them beside.
func (p *plan) stateDir() string {
	if p.settings.StateDir == "" && p.config.SQLiteFile != "" {
		return filepath.Dir(p.config.SQLiteFile)
	}
	return p.settings.StateDir
}

// planState finds out what is kept and what has to be.
func (p *plan) planState() error {
	dir := p.stateDir()
	if dir == "" {
		if p.password == "" {
			return errors.New("cannot keep a generated password: the database is not sqlite, so set GARM_STATE_DIR or GARM_PASSWORD")
		}
		return nil
	}
	p.keeper, p.mark = newKeeper(dir), newMark(dir)
	stands, err := p.mark.stands()
	p.newDatabase = p.newDatabase || stands
	if p.newDatabase && err == nil {
		if err = durable.Writable(dir); err != nil {
			err = fmt.Errorf("cannot keep the state of a first boot (GARM_STATE_DIR names another directory for it): %w", err)
		}
	}
	if p.password == "" {
		var kept error
		p.password, kept = p.keeper.load()
		err = errors.Join(err, kept)
		p.makePassword = p.newDatabase && p.password == ""
	}
	return err
}

// guarded reports whether garm first runs on a loopback address only.
func (p *plan) guarded() bool {
	if !p.settings.Init {
		return false
	}
	return p.settings.FirstBoot == firstBootGuarded || p.settings.FirstBoot == firstBootAuto && p.newDatabase
}

// carryOut writes what was planned to be generated.
func (p *plan) carryOut() error {
	if p.generated != nil {
		if err := durable.Create(p.config.Path, p.generated); err != nil {
			return err
		}
	}
	if p.makePassword {
		var err error
		if p.password, err = p.keeper.create(); err != nil {
			return err
		}
	}
	if p.newDatabase && p.settings.Init {
		if err := p.mark.set(); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes the temporary files that a killed start left behind. Where we
// may not look, we cannot have left any.
func (p *plan) tidy() error {
	err := durable.RemoveStale(p.config.Path)
	if p.keeper.path != "" {
		err = errors.Join(err, durable.RemoveStale(p.keeper.path), durable.RemoveStale(p.mark.path))
	}
	return err
}

// passwordKept reports whether the password in use is the kept one.
func (p *plan) passwordKept() bool { return p.settings.Password == "" }

// options for the initialiser of the server at baseURL, which is the process
// pid or a descendant of it.
func (p *plan) options(baseURL string, pid int) (initializer.Options, error) {
	server, err := url.Parse(baseURL)
	if err != nil {
		return initializer.Options{}, fmt.Errorf("cannot use the server's address: %w", err)
	}
	credentials := p.settings.credentials()
	credentials.Password = p.password
	return initializer.Options{
		Server: server,
		// No proxy: HTTP_PROXY is not meant for a server on this host.
		Transport:      toProcess(initializer.NewTransport(initializer.Trust{Certificate: p.certificate}, nil), pid),
		UserAgent:      userAgent(),
		Credentials:    credentials,
		NewPassword:    p.keeper.create,
		ForgetPassword: p.keeper.forget,
		FirstBoot:      p.newDatabase,
		Want:           p.want,
		Fallback:       fallback(p.config),
		Interval:       p.settings.WatchInterval,
		SilenceLimit:   p.settings.APITimeout,
	}, nil
}

// toProcess makes a transport speak to nobody but a process and its
// descendants: whoever else holds the port, on this host or, where the bind
// address is not ours, on another one, gets no byte.
func toProcess(t *http.Transport, pid int) *http.Transport {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if peer, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			if err := listener.HeldBy(pid, peer); err != nil {
				_ = conn.Close()
				return nil, err
			}
		}
		return conn, nil
	}
	return t
}

// fallback is what [default] in garm's config says. garm v0.1.5 to v0.2.1
// copies it into an empty controller itself, later ones ignore it silently.
func fallback(c *garmconfig.Config) initializer.Controller {
	return initializer.Controller{MetadataURL: c.MetadataURL, CallbackURL: c.CallbackURL, WebhookURL: c.WebhookURL}
}

// renewed reports whether the certificate's file holds another one by now. garm
// reads it once: neither rotation on disk nor SIGHUP changes what it serves.
func (p *plan) renewed() bool {
	if p.certificate == nil {
		return false
	}
	leaf, err := readLeaf(p.config.Certificate)
	return err == nil && !leaf.Equal(p.certificate)
}

// readLeaf returns the first certificate of a PEM file: the server's own, which
// garm serves.
func readLeaf(path string) (*x509.Certificate, error) {
	data, err := readFile(path, maxPEMFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the server's certificate %s: %w", path, err)
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, fmt.Errorf("cannot use the server's certificate %s: it holds no PEM certificate", path)
		}
		if block.Type == "CERTIFICATE" {
			leaf, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, fmt.Errorf("cannot use the server's certificate %s: %w", path, err)
			}
			return leaf, nil
		}
	}
}
