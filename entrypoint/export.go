package main

import (
	"fmt"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/entrypoint/settings"
)

// export prints a running server as a provision file.
func (a *app) export(inv invocation) int {
	if inv.fromConfig {
		return a.exportConfig(inv)
	}
	p, err := a.provisioner(cmdExport, inv)
	if err != nil {
		return a.fail(err)
	}
	ctx, cancel := a.untilStopped()
	defer cancel()
	exported, err := provision.Export(ctx, p.session)
	if err != nil {
		return a.failRemote(ctx, err)
	}
	warn(p.log, exported.Left)
	if _, err := a.stdout.Write(exported.Text); err != nil {
		return a.fail(fmt.Errorf("cannot write the export: %w", err))
	}
	return exitOK
}

// exportConfig prints the [[github]] sections of garm's config.
func (a *app) exportConfig(inv invocation) int {
	s, _, err := settings.Read(cmdExport, inv.flags, a.env)
	if err != nil {
		return a.fail(err)
	}
	config, err := garmconfig.Read(s.Config)
	if err != nil {
		return a.fail(err)
	}
	var sections []provision.ConfigCredentials
	for _, section := range config.GitHub() {
		sections = append(sections, provision.ConfigCredentials(section))
	}
	if _, err := a.stdout.Write(provision.ExportConfig(s.Config, sections).Text); err != nil {
		return a.fail(fmt.Errorf("cannot write the export: %w", err))
	}
	return exitOK
}
