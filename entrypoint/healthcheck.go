package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/settings"
)

// healthTimeout bounds a health check. It is shorter than the image's HEALTHCHECK --timeout, so that the line saying
// why is always printed.
const healthTimeout = 4 * time.Second

// healthcheck answers with exit 0 when the server is ready, else with 1 and one line saying why. It is anonymous, so it
// may accept any certificate.
func (a *app) healthcheck(inv invocation) int {
	stopped, stop := a.untilStopped()
	defer stop()
	if err := a.health(stopped, inv); err != nil {
		fmt.Fprintln(a.stdout, "unhealthy:", strings.ReplaceAll(err.Error(), "\n", "; "))
		return exitUnhealthy
	}
	return exitOK
}

func (a *app) health(ctx context.Context, inv invocation) error {
	s, _, err := settings.Read(cmdHealthcheck, inv.flags, a.env)
	if err != nil {
		return err
	}
	want, err := s.Controller()
	if err != nil {
		return err
	}
	server := inv.server
	if server == "" {
		config, err := garmconfig.Read(s.Config)
		if err != nil {
			return err
		}
		server = config.BaseURL()
		want = filled(want, settings.Fallback(config))
	}
	u, err := url.Parse(server)
	if err != nil {
		return errors.New("cannot use --server: it is not a URL")
	}
	probe, err := initializer.New(initializer.Options{
		Server: u,
		// Anonymous requests never need a name that garm accepts.
		Credentials: initializer.Credentials{Username: "nobody", Email: "nobody@localhost"},
		UserAgent:   userAgent(),
		Transport:   initializer.NewTransport(initializer.Trust{Anything: true}, nil),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if inv.live {
		return probe.Live(ctx)
	}
	return ready(ctx, probe, want)
}

// ready is an error unless the server has an admin and, when they were asked for, its URLs.
func ready(ctx context.Context, probe *initializer.Initializer, want initializer.Controller) error {
	state, err := probe.Probe(ctx)
	if err != nil {
		return err
	}
	asked := want.MetadataURL != "" && want.CallbackURL != ""
	if state == initializer.NoAdmin || state == initializer.NoURLs && asked {
		return fmt.Errorf("%s", state)
	}
	return nil
}

// filled is want, and fallback where that is silent.
func filled(want, fallback initializer.Controller) initializer.Controller {
	if want.MetadataURL == "" {
		want.MetadataURL = fallback.MetadataURL
	}
	if want.CallbackURL == "" {
		want.CallbackURL = fallback.CallbackURL
	}
	return want
}
