package settings

import "strings"

// Environment is a process environment, first entry of a name first.
type Environment []string

// Get returns a variable's value, and whether it is there.
func (e Environment) Get(name string) (string, bool) {
	for _, entry := range e {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// WithoutSecrets returns the environment less what the options table calls secret: for a program that needs none of it.
func (e Environment) WithoutSecrets() Environment {
	kept := e
	for _, o := range Options {
		if o.Secret {
			kept = kept.Without(o.Variable)
		}
	}
	return kept
}

// Without returns the environment less all entries of a name, byte for byte.
func (e Environment) Without(name string) Environment {
	kept := make(Environment, 0, len(e))
	for _, entry := range e {
		if !strings.HasPrefix(entry, name+"=") {
			kept = append(kept, entry)
		}
	}
	return kept
}
