package main

import (
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"garm-entrypoint/internal/sdnotify"
	"garm-entrypoint/supervisor"
)

// supervise is the main job: run garm, and initialise it. With --spawn it ends
// where a guarded first boot would go on to the real garm.
func (a *app) supervise(inv invocation) int {
	s, warnings, err := readSettings(cmdRun, inv.flags, a.env)
	s.Init = s.Init || inv.spawn
	p, planErr := makePlan(s)
	if err = errors.Join(err, planErr); err != nil {
		return a.fail(err)
	}
	log := a.logger(s, p.config.LogLevel, p.config.LogFormat)
	warn(log, warnings)
	binary, err := a.lookPath(s.Binary)
	if err != nil {
		return a.fail(err)
	}
	sup, err := supervisor.New(supervisor.Options{Logger: log, Signals: a.signals})
	if err != nil {
		return a.fail(err)
	}
	defer sup.Close()
	if err := p.carryOut(); err != nil {
		return a.fail(err)
	}
	if err := p.tidy(); err != nil {
		log.Debug("cannot look for what a killed start left behind", slog.Any("error", err))
	}
	p.announce(log)
	b := &boot{
		profile: a.newCLIProfile(s, p.config.BaseURL(), log),
		oneShot: inv.spawn,
		plan:    p, log: log, sup: sup,
		manager: a.newManager(log),
		command: supervisor.Command{
			Path:        binary,
			Args:        append([]string{filepath.Base(binary), "--config", p.config.Path}, inv.args...),
			Env:         a.env.without("GARM_PASSWORD").without(sdnotify.Variable),
			Umask:       s.Umask,
			StopTimeout: s.StopTimeout,
			Hold:        []syscall.Signal{syscall.SIGHUP},
		},
	}
	return b.run()
}

// logger for our own lines: as configured, else as garm's.
func (a *app) logger(s settings, level, format string) *slog.Logger {
	if s.LogLevel != "" {
		level = s.LogLevel
	}
	if s.LogFormat != "" {
		format = s.LogFormat
	}
	return newLogger(a.stderr, level, format)
}

// announce says what was generated, and what will not please runners.
func (p *plan) announce(log *slog.Logger) {
	if p.generated != nil {
		log.Info("generated garm's config, which did not exist", slog.String("path", p.config.Path))
	}
	warn(log, p.config.Warnings)
	if c := p.certificate; c != nil && time.Now().After(c.NotAfter) {
		log.Warn("the server's certificate has expired; it is the configured one and trusted here, but runners and the forge will refuse it",
			slog.String("path", p.config.Certificate), slog.Time("expired", c.NotAfter))
	}
	if stands, _ := p.mark.stands(); stands && !p.settings.Init {
		log.Warn("the first boot of this database was never proven, so its admin may be anybody; initialising is switched off, and garm serves him (GARM_INIT=false)",
			slog.String("mark", p.mark.path))
	}
	if p.makePassword {
		log.Info("generated the admin's password", slog.String("path", p.keeper.path))
	}
}
