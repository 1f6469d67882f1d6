package main

import (
	"io"
	"log/slog"
)

// newLogger returns a logger in garm's own format, so that one parser reads
// both. Unknown or empty values mean garm's defaults: info, text.
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
