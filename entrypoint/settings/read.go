package settings

import (
	"errors"
	"fmt"
	"strings"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/infile"
)

// Read fills the settings of a command: flag over variable over default. All faults are in the one error, none shows a
// secret. Warnings are for what is allowed and yet hardly meant.
func Read(command string, flags map[string]string, env Environment) (s Settings, warnings []string, err error) {
	var faults []error
	for _, o := range Options {
		if !o.AppliesTo(command) {
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
			value = o.Default
		}
		if value != "" {
			o.store(&s, value)
			if odd := oddEnds(value); odd != "" && o.File {
				warnings = append(warnings, o.source(flags)+" "+odd)
			}
		}
	}
	if _, set := env.Get("GARM_CONFIG_FILE"); set {
		warnings = append(warnings, "GARM_CONFIG_FILE means nothing here; the path of garm's config is GARM_CONFIG")
	}
	faults = append(faults, s.validate())
	return s, warnings, errors.Join(faults...)
}

// source names where the value came from, for messages.
func (o Option) source(flags map[string]string) string {
	if _, set := flags[o.Flag()]; set {
		return "--" + o.Flag()
	}
	return o.Variable
}

// value finds the option's value; "" means unset and without default.
func (o Option) value(flags map[string]string, env Environment) (string, error) {
	if value, set := flags[o.Flag()]; set && !o.Secret {
		if value == "" {
			return "", fmt.Errorf("cannot use --%s: it is empty; leave it out to get the default", o.Flag())
		}
		return value, nil
	}
	value, set := env.Get(o.Variable)
	if o.Secret && set && value == "" {
		return "", fmt.Errorf("cannot use %s: it is empty; unset it to have one generated", o.Variable)
	}
	file := ""
	if o.File {
		file, _ = env.Get(o.Variable + "_FILE")
	}
	switch {
	case value != "" && file != "":
		return "", fmt.Errorf("cannot use %s and %s_FILE together: set one of them", o.Variable, o.Variable)
	case value != "":
		return value, nil
	case file != "":
		value, err := infile.Value(file)
		if err != nil {
			return "", fmt.Errorf("cannot read %s_FILE %s: %w", o.Variable, file, err)
		}
		return value, nil
	}
	return o.Default, nil
}

// validate checks what more than one kind of value has to do with.
func (s *Settings) validate() error {
	var faults []error
	if s.Username != "" || s.Email != "" {
		who := s.Credentials()
		if who.Email == "" {
			who.Email = "nobody@localhost" // of a command that makes no admin and takes no address
		}
		faults = append(faults, who.Validate())
	}
	if s.BaseURL != "" {
		if err := initializer.CheckURL(s.BaseURL); err != nil {
			faults = append(faults, fmt.Errorf("cannot use GARM_BASE_URL: %w", err))
		}
		faults = append(faults, checkBase("GARM_BASE_URL", s.BaseURL))
	}
	if want, err := s.Controller(); err != nil {
		faults = append(faults, err)
	} else {
		faults = append(faults, want.Validate())
	}
	if s.Server != "" {
		if err := initializer.CheckURL(s.Server); err != nil {
			faults = append(faults, fmt.Errorf("cannot use GARM_SERVER: %w", err))
		}
		faults = append(faults, checkBase("GARM_SERVER", s.Server))
	}
	faults = append(faults,
		oneOf("GARM_PROVISION_DRIFT", s.ProvisionDrift, DriftReport, DriftHeal),
		oneOf("GARM_FIRST_BOOT", s.FirstBoot, FirstBootAuto, FirstBootGuarded, FirstBootOpen),
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

// Credentials of the admin, as far as they are configured.
func (s *Settings) Credentials() initializer.Credentials {
	return initializer.Credentials{Username: s.Username, Password: s.Password, Email: s.Email, FullName: s.FullName}
}
