package main

import (
	"errors"

	"garm-entrypoint/entrypoint/boot"
	"garm-entrypoint/entrypoint/settings"
)

// supervise is the main job: run garm, and initialise it. With --spawn it ends where a guarded first boot would go on
// to the real garm.
func (a *app) supervise(inv invocation) int {
	s, warnings, err := settings.Read(cmdRun, inv.flags, a.env)
	s.Init = s.Init || inv.spawn
	p, planErr := boot.Look(s, a.env)
	if err = errors.Join(err, planErr); err != nil {
		return a.fail(err)
	}
	log := a.logger(s, p.Config().LogLevel, p.Config().LogFormat)
	warn(log, warnings)
	binary, err := a.lookPath(s.Binary)
	if err != nil {
		return a.fail(err)
	}
	b, err := boot.New(p, boot.Process{
		Binary: binary, Args: inv.args, Env: a.env, Signals: a.signals, Log: log, UserAgent: userAgent(), OneShot: inv.spawn,
	})
	if err != nil {
		return a.fail(err)
	}
	defer b.Close()
	code, err := b.Run()
	if err != nil {
		return exitCodeOf(err)
	}
	return code
}
