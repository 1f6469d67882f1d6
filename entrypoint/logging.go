package main

import (
	"io"
	"log/slog"

	"garm-entrypoint/entrypoint/settings"
)

// newLogger returns a logger in garm's own format, so that one parser reads both. Unknown or empty values mean garm's
// defaults: info, text.
func newLogger(w io.Writer, level, format string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: l}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if format == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(h).With(slog.String("program", "garm-entrypoint"))
}

// logger for our own lines: as configured, else as garm's.
func (a *app) logger(s settings.Settings, level, format string) *slog.Logger {
	if s.LogLevel != "" {
		level = s.LogLevel
	}
	if s.LogFormat != "" {
		format = s.LogFormat
	}
	return newLogger(a.stderr, level, format)
}

// warn prints remarks on what was asked for.
func warn(log *slog.Logger, warnings []string) {
	for _, w := range warnings {
		log.Warn(w)
	}
}
