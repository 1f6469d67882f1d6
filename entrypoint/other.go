package main

import (
	"fmt"
	"log/slog"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/remote"
	"garm-entrypoint/entrypoint/settings"
)

// What init and watch have in common.

// remote reads the settings of init and watch, and finds the server that they speak of.
func (a *app) remote(command string, inv invocation) (*remote.Remote, settings.Settings, *slog.Logger, error) {
	s, warnings, err := settings.Read(command, inv.flags, a.env)
	if err != nil {
		return nil, s, nil, err
	}
	config, err := remote.ReadConfig(s)
	if err != nil {
		return nil, s, nil, err
	}
	level, format := "", ""
	if config != nil {
		level, format = config.LogLevel, config.LogFormat
	}
	log := a.logger(s, level, format)
	warn(log, warnings)
	r, err := remote.New(s, config)
	if err != nil {
		return nil, s, nil, err
	}
	r.Options.Logger, r.Options.UserAgent = log, userAgent()
	if r.Unencrypted() {
		log.Warn("the password travels unencrypted: use https for a server beyond this host", slog.String("url", r.Options.Server.String()))
	}
	return r, s, log, nil
}

// describeResult is the result for people.
func describeResult(user string, r initializer.Result) []string {
	did := func(done, would string) string {
		if r.DryRun {
			return would
		}
		return done
	}
	lines := []string{fmt.Sprintf("server: garm %s, controller %s", r.Garm(), r.ControllerID)}
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
