package settings

import (
	"fmt"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/infile"
)

// Controller is what was asked for: each URL alone, else derived from the base.
func (s *Settings) Controller() (initializer.Controller, error) {
	var want initializer.Controller
	if s.BaseURL != "" && initializer.CheckURL(s.BaseURL) == nil {
		derived, err := initializer.Derive(s.BaseURL)
		if err != nil {
			return want, err
		}
		want = derived
	}
	for _, f := range []struct {
		to    *string
		value string
	}{
		{&want.MetadataURL, s.MetadataURL}, {&want.CallbackURL, s.CallbackURL},
		{&want.WebhookURL, s.WebhookURL}, {&want.AgentURL, s.AgentURL},
	} {
		if f.value != "" {
			*f.to = f.value
		}
	}
	if s.CABundle != "" {
		bundle, err := infile.Read(s.CABundle, infile.MaxPEM)
		if err != nil {
			return want, fmt.Errorf("cannot read GARM_CA_BUNDLE %s: %w", s.CABundle, err)
		}
		if len(bundle) == 0 {
			return want, fmt.Errorf("cannot use GARM_CA_BUNDLE %s: it is empty", s.CABundle)
		}
		want.CABundle = bundle
	}
	return want, nil
}

// Fallback is what [default] in garm's config says. garm v0.1.5 to v0.2.1 copies it into an empty controller itself,
// later ones ignore it silently.
func Fallback(c *garmconfig.Config) initializer.Controller {
	return initializer.Controller{MetadataURL: c.MetadataURL, CallbackURL: c.CallbackURL, WebhookURL: c.WebhookURL}
}
