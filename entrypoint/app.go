package main

import (
	"io"

	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/supervisor"
	"garm-entrypoint/supervisor/signals"
)

// version is set by the linker.
var version = "devel"

// userAgent names us in garm's access log.
func userAgent() string { return "garm-entrypoint/" + version }

// app is the process: what main takes from the outside, handed down.
type app struct {
	env            settings.Environment
	stdout, stderr io.Writer
	signals        *signals.Trap
}

// lookPath finds a program as a shell does.
func (a *app) lookPath(name string) (string, error) {
	path, _ := a.env.Get("PATH")
	return supervisor.LookPath(name, path)
}
