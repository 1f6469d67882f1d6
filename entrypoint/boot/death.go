package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"garm-entrypoint/internal/postmortem"
	"garm-entrypoint/supervisor"
)

// sayEnded says how garm ended. An end that was asked for is news. Any other, before garm was ready or with a status,
// is an error, which is seen at every log level: garm itself may have said nothing (v0.2.1 says why it ends at level
// info). err is why the initialiser had garm stopped, if it did.
func (b *Boot) sayEnded(g *garm, err error) {
	status := g.Status()
	attrs := []any{slog.String("status", status.String()), slog.Duration("ran", time.Since(g.started).Round(time.Millisecond))}
	asked := err != nil || b.sup.StopSignal() != 0
	wasUp := g.ready || !b.plan.settings.Init // nobody has looked
	if asked || wasUp && status.Code() == 0 {
		b.log.Info("garm has stopped", attrs...)
		return
	}
	if b.plan.settings.Init {
		attrs = append(attrs, slog.Bool("was_ready", g.ready))
	}
	b.log.Error("garm ended by itself", append(attrs, slog.String("cure", b.plan.cureOfDeath(g, status)))...)
}

// cureOfDeath names what can be seen from here, and where garm's own words are.
func (p *Plan) cureOfDeath(g *garm, status supervisor.Status) string {
	limits := postmortem.ReadLimits()
	limits.Files = g.files
	causes := limits.Causes(status.Signal())
	if status.Signal() != unix.SIGKILL {
		causes = append(causes, p.diskCauses()...)
		if cause := p.portCause(g); cause != "" {
			causes = append(causes, cause)
		}
	}
	return strings.Join(append(causes, p.lastWords()), "; ")
}

// diskCauses names what is wrong with the database and the file systems.
func (p *Plan) diskCauses() (causes []string) {
	add := func(cause string) {
		if cause != "" {
			causes = append(causes, cause)
		}
	}
	if p.config.SQLiteFile != "" {
		add(postmortem.Database(p.config.SQLiteFile))
		add(postmortem.Space(filepath.Dir(p.config.SQLiteFile)))
	}
	if p.config.LogFile != "" && filepath.Dir(p.config.LogFile) != filepath.Dir(p.config.SQLiteFile) {
		add(postmortem.Space(filepath.Dir(p.config.LogFile)))
	}
	return causes
}

// portCause says why a garm that never answered could not listen on its real address; "" where it could.
func (p *Plan) portCause(g *garm) string {
	select {
	case <-g.answered:
		return ""
	default:
	}
	if g.url != p.config.BaseURL() {
		return "" // a free port of a guarded boot
	}
	address := p.config.ListenAddress()
	switch err := tryBind(address); {
	case errors.Is(err, syscall.EADDRINUSE):
		return "somebody else listens on " + address + ": stop it, or set another port in " + p.config.Path
	case err != nil:
		return fmt.Sprintf("garm could not listen on %s: %v: correct bind and port in %s", address, err, p.config.Path)
	}
	return ""
}

// lastWords says where garm has said why, if it has.
func (p *Plan) lastWords() string {
	switch c := p.config; {
	case c.LogLevel == "warn" || c.LogLevel == "error":
		return fmt.Sprintf("garm says why it ends at level info only: set log_level to \"info\" in %s, and start it again", c.Path)
	case c.LogFile != "":
		return "garm's last lines are in " + c.LogFile + ", or above"
	}
	return "garm's last lines above say why"
}

// LimitWarnings name, before a start, what may end garm after it, each with its cure.
func (p *Plan) LimitWarnings() []string {
	warnings := postmortem.ReadLimits().Small()
	return append(warnings, p.diskCauses()...)
}
