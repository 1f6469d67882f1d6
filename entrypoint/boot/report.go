package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"garm-entrypoint/entrypoint/initializer"
)

// The lines below tell a user who sees only this log the state and what to do next.

func (b *Boot) sayAdmin(r initializer.Result) {
	admin := "admin is already there"
	if r.AdminCreated {
		admin = "admin created"
	}
	attrs := []any{slog.String("user", b.plan.settings.Username)}
	if b.plan.passwordKept() {
		attrs = append(attrs, slog.String("password_file", b.plan.keeper.Path()))
	}
	b.log.Info(admin, attrs...)
}

func (b *Boot) sayController(r initializer.Result) {
	if len(r.Changed) > 0 {
		var attrs []any
		for _, c := range r.Changed {
			name := strings.ReplaceAll(strings.ToLower(c.Field), " ", "_")
			attrs = append(attrs, slog.String(name, c.To))
			if c.From != "" {
				attrs = append(attrs, slog.String("old_"+name, c.From))
			}
		}
		b.log.Info("controller URLs set", attrs...)
	}
	if len(r.Unsupported) > 0 && !b.saidUnsupported {
		b.saidUnsupported = true
		b.log.Warn("this garm cannot hold everything that was asked for",
			slog.String("not_set", strings.Join(r.Unsupported, ", ")), slog.String("garm", r.Garm()))
	}
}

func (b *Boot) sayReady(g *garm, r initializer.Result) {
	if r.URLsMissing {
		b.log.Warn("the controller has no metadata and callback URL, so runners cannot report yet: set GARM_BASE_URL to where they reach this server")
	}
	url := b.plan.settings.BaseURL
	if url == "" {
		url = g.url
	}
	b.log.Info("ready", after(b.began), slog.String("url", url),
		slog.String("garm", r.Garm()), slog.String("controller", r.ControllerID))
	g.ready = true
	b.manager.ready("ready at " + url)
}

// cure says what the user can do about an error.
func (b *Boot) cure(err error) string {
	var (
		refused  *initializer.RefusedError
		mismatch *initializer.MismatchError
		takeover *initializer.TakeoverError
	)
	p := b.plan
	switch {
	case errors.As(err, &takeover):
		return "keep the volume for forensics and start with a fresh one"
	case errors.As(err, &mismatch) && mismatch.NoPassword:
		return "set GARM_USERNAME and GARM_PASSWORD to the admin's credentials, or GARM_INIT=false"
	case errors.As(err, &mismatch) && p.passwordKept():
		return fmt.Sprintf("the password kept in %s does not log in as %q: set GARM_USERNAME back if it was changed, or GARM_PASSWORD to the one in force", p.keeper.Path(), p.settings.Username)
	case errors.As(err, &mismatch):
		return "set GARM_USERNAME and GARM_PASSWORD to the credentials that are in force (garm has no API to change them)"
	case errors.As(err, &refused) && refused.Reason == initializer.WeakPassword:
		return "set GARM_PASSWORD to a stronger one (several unrelated words, or 16 random characters), or leave it out to have one generated"
	case errors.As(err, &refused) && refused.Configuration:
		return "change the value that the reason names"
	}
	return "look at garm's own log above"
}

// announce says what was generated, and what will not please runners.
func (p *Plan) announce(log *slog.Logger) {
	if p.generated != nil {
		log.Info("generated garm's config, which did not exist", slog.String("path", p.config.Path))
	}
	for _, w := range p.Warnings() {
		log.Warn(w)
	}
	if c := p.certificate; c != nil && time.Now().After(c.NotAfter) {
		log.Warn("the server's certificate has expired; it is the configured one and trusted here, but runners and the forge will refuse it",
			slog.String("path", p.config.Certificate), slog.Time("expired", c.NotAfter))
	}
	if stands, _ := p.mark.Stands(); stands && !p.settings.Init {
		log.Warn("the first boot of this database was never proven, so its admin may be anybody; initialising is switched off, and garm serves him (GARM_INIT=false)",
			slog.String("mark", p.mark.Path()))
	}
	if p.makePassword {
		log.Info("generated the admin's password", slog.String("path", p.keeper.Path()))
	}
}

// sayFatal says why garm is stopped. A password that was made for this boot and never came into force is not left
// behind to mislead.
func (b *Boot) sayFatal(err error) {
	b.log.Error("stopping garm: "+err.Error(), slog.String("cure", b.cure(err)))
	b.manager.stopping(b.command.StopTimeout, "stopping garm: "+err.Error())
	var takeover *initializer.TakeoverError
	if errors.As(err, &takeover) && b.plan.makePassword {
		if err := b.plan.keeper.Forget(); err != nil {
			b.log.Warn(err.Error())
		}
	}
}
