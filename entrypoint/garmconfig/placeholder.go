package garmconfig

import (
	"fmt"
	"regexp"
)

// Placeholders of the templates that people fill in: with envsubst or Compose (${NAME}), sed or autoconf (@NAME@), Helm
// or Ansible ({{ name }}), or by hand (CHANGEME, <password>). garm replaces none of them.
var (
	anywhere = regexp.MustCompile(`\$\{[A-Za-z_][^{}]*\}|\{\{[^{}]*\}\}|@[A-Z][A-Z0-9_]{2,}@|(?i:change[-_ ]?me)`)
	whole    = regexp.MustCompile(`^(?:\$\{[A-Za-z_][^{}]*\}|\$[A-Z][A-Z0-9_]{2,}|\{\{[^{}]*\}\}|@[A-Z][A-Z0-9_]{2,}@|<[^<>]+>)$`)
	byHand   = regexp.MustCompile(`(?i)change[-_ ]?me`)
)

// placeholder returns the placeholder that a value holds, "" when there is none. A secret must be one as a whole, or
// say that it is to be changed: what merely holds such signs may be a good secret, and is not shown.
func placeholder(value string, secret bool) string {
	if !secret {
		if found := anywhere.FindString(value); found != "" {
			return found
		}
	} else if found := byHand.FindString(value); found != "" {
		return found
	}
	return whole.FindString(value)
}

// secretKeys hold what must not be shown.
var secretKeys = map[string]bool{"jwt_auth.secret": true, "database.passphrase": true}

// unfilled is a value that nobody filled in.
type unfilled struct{ key, placeholder string }

func (u unfilled) String() string {
	return fmt.Sprintf("holds the placeholder %s, which nobody has filled in (garm replaces nothing in its config)", u.placeholder)
}

// checkUnfilled judges the placeholders with which garm would serve. They are refused while nothing depends on them
// yet. A database that is in use may need its passphrase for ever, so there it is a warning.
func (c *Config) checkUnfilled(f *faults) {
	isNew, err := c.DatabaseIsNew()
	for _, u := range f.unfilled {
		switch {
		case f.has(u.key):
		case isNew && err == nil:
			f.add(u.key, "%s: write the value itself%s", u, advice[u.key])
		default:
			f.warn(u.key, "%s%s", u, advice[u.key])
		}
	}
}

// advice says what is at stake.
var advice = map[string]string{
	"jwt_auth.secret":     "; everybody who knows the template can sign himself a login: put a long random string there, which logs all out",
	"database.passphrase": "; everybody who knows the template can decrypt what the database holds, and it cannot be changed once credentials are stored",
}
