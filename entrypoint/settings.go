package main

import (
	"errors"
	"fmt"
	"strings"

	"garm-entrypoint/entrypoint/initializer"
)

// environment is a process environment, first entry of a name first.
type environment []string

// get returns a variable's value, and whether it is there.
func (e environment) get(name string) (string, bool) {
	for _, entry := range e {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// without returns the environment less all entries of a name, byte for byte.
func (e environment) without(name string) environment {
	kept := make(environment, 0, len(e))
	for _, entry := range e {
		if !strings.HasPrefix(entry, name+"=") {
			kept = append(kept, entry)
		}
	}
	return kept
}

// readSettings fills the settings of a command: flag over variable over
// default. All faults are in the one error, none shows a secret. Warnings are
// for what is allowed and yet hardly meant.
func readSettings(command string, flags map[string]string, env environment) (s settings, warnings []string, err error) {
	var faults []error
	for _, o := range options {
		if !o.appliesTo(command) {
			continue
		}
		value, err := o.value(flags, env)
		if err == nil && value != "" {
			err = o.kind.check(value)
			if err != nil {
				err = fmt.Errorf("cannot use %s: %w", o.source(flags), err)
			}
		}
		if err != nil {
			// The default keeps one fault from having others in its wake.
			faults = append(faults, err)
			value = o.def
		}
		if value != "" {
			o.store(&s, value)
		}
	}
	if _, set := env.get("GARM_CONFIG_FILE"); set {
		warnings = append(warnings, "GARM_CONFIG_FILE means nothing here; the path of garm's config is GARM_CONFIG")
	}
	faults = append(faults, s.validate())
	return s, warnings, errors.Join(faults...)
}

// source names where the value came from, for messages.
func (o option) source(flags map[string]string) string {
	if _, set := flags[o.flag()]; set {
		return "--" + o.flag()
	}
	return o.variable
}

// value finds the option's value; "" means unset and without default.
func (o option) value(flags map[string]string, env environment) (string, error) {
	if value, set := flags[o.flag()]; set && !o.secret {
		if value == "" {
			return "", fmt.Errorf("cannot use --%s: it is empty; leave it out to get the default", o.flag())
		}
		return value, nil
	}
	value, set := env.get(o.variable)
	if o.secret && set && value == "" {
		return "", fmt.Errorf("cannot use %s: it is empty; unset it to have one generated", o.variable)
	}
	file := ""
	if o.file {
		file, _ = env.get(o.variable + "_FILE")
	}
	switch {
	case value != "" && file != "":
		return "", fmt.Errorf("cannot use %s and %s_FILE together: set one of them", o.variable, o.variable)
	case value != "":
		return value, nil
	case file != "":
		value, err := readValueFile(file)
		if err != nil {
			return "", fmt.Errorf("cannot read %s_FILE %s: %w", o.variable, file, err)
		}
		return value, nil
	}
	return o.def, nil
}

// validate checks what more than one kind of value has to do with.
func (s *settings) validate() error {
	var faults []error
	if s.Username != "" || s.Email != "" {
		faults = append(faults, s.credentials().Validate())
	}
	if s.BaseURL != "" {
		if err := initializer.CheckURL(s.BaseURL); err != nil {
			faults = append(faults, fmt.Errorf("cannot use GARM_BASE_URL: %w", err))
		}
	}
	if want, err := s.controller(); err != nil {
		faults = append(faults, err)
	} else {
		faults = append(faults, want.Validate())
	}
	if s.Server != "" {
		if err := initializer.CheckURL(s.Server); err != nil {
			faults = append(faults, fmt.Errorf("cannot use GARM_SERVER: %w", err))
		}
	}
	faults = append(faults,
		oneOf("GARM_FIRST_BOOT", s.FirstBoot, firstBootAuto, firstBootGuarded, firstBootOpen),
		oneOf("GARM_LOG_LEVEL", s.LogLevel, "debug", "info", "warn", "error"),
		oneOf("GARM_LOG_FORMAT", s.LogFormat, "text", "json"))
	return errors.Join(faults...)
}

func oneOf(name, value string, allowed ...string) error {
	if value == "" {
		return nil
	}
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("cannot use %s: %q is none of %s", name, value, strings.Join(allowed, ", "))
}

func (s *settings) credentials() initializer.Credentials {
	return initializer.Credentials{Username: s.Username, Password: s.Password, Email: s.Email, FullName: s.FullName}
}

// controller is what was asked for: each URL alone, else derived from the base.
func (s *settings) controller() (initializer.Controller, error) {
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
		{&want.WebhookURL, s.WebhookURL}, {&want.AgentURL, s.AgtURL},
	} {
		if f.value != "" {
			*f.to = f.value
		}
	}
	if s.CABundle != "" {
		bundle, err := readFile(s.CABundle, maxPEMFile)
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
