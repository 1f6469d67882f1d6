package main

import (
	"errors"
	"fmt"

	"garm-entrypoint/entrypoint/boot"
	"garm-entrypoint/entrypoint/settings"
)

// check validates everything that can be validated without exposing a server, asks garm itself, and says what a start
// would do. It leaves nothing behind.
func (a *app) check(inv invocation) int {
	s, warnings, err := settings.Read(cmdCheck, inv.flags, a.env)
	p, planErr := boot.Look(s, a.env)
	binary, binaryErr := a.lookPath(s.Binary)
	if err = errors.Join(err, planErr, binaryErr); err != nil {
		a.printFaults(err)
		return exitConfig
	}
	warnings = append(warnings, p.Warnings()...)
	warnings = append(warnings, p.LimitWarnings()...)
	if w := p.ListenWarning(); w != "" {
		warnings = append(warnings, w)
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stdout, "warning:", w)
	}
	verdict := "garm's verdict: good (asked on a throw-away database)"
	switch err := boot.Trial(p, boot.Process{
		Binary: binary, Env: a.env, Signals: a.signals, Log: newLogger(a.stderr, "", ""), UserAgent: userAgent(),
	}); {
	case errors.Is(err, boot.ErrNoTrial):
		verdict = "garm's verdict: not asked: " + err.Error()
	case errors.As(err, new(*boot.StoppedError)):
		return a.fail(err)
	case err != nil:
		a.printFaults(err)
		return exitConfig
	}
	for _, line := range p.Describe() {
		fmt.Fprintln(a.stdout, line)
	}
	fmt.Fprintln(a.stdout, verdict)
	return exitOK
}
