package garmconfig

import "unicode/utf8"

// Secrets are what is laid over a config that lacks them, so that the file itself need not hold any.
type Secrets struct {
	// JWT signs garm's tokens; Passphrase encrypts what the database holds. Empty: as the file says.
	JWT, Passphrase string
}

// overlay puts the secrets where the file has none. It is a fault where it has others: nobody could tell which one is
// meant.
func (c *Config) overlay(s Secrets, f *faults) {
	for _, one := range []struct{ table, key, value, variable string }{
		{"jwt_auth", "secret", s.JWT, "GARM_JWT_SECRET"},
		{"database", "passphrase", s.Passphrase, "GARM_DATABASE_PASSPHRASE"},
	} {
		if one.value == "" {
			continue
		}
		// Faults of the section itself are parse's business.
		there, set := section{table: c.root, faults: &faults{}}.sub(one.table).get(one.key)
		path := one.table + "." + one.key
		switch {
		case set && there == one.value:
			continue
		case set && there != "":
			f.add(path, "is another one than %s: set it in one of the two places, or to the same value in both", one.variable)
			continue
		case !utf8.ValidString(one.value):
			f.add(path, "cannot be taken from %s: it is not valid UTF-8", one.variable)
			continue
		case one.key == "passphrase" && len(one.value) != passphraseBytes:
			f.add(path, "cannot be taken from %s: it has %d bytes, garm wants exactly %d", one.variable, len(one.value), passphraseBytes)
		}
		c.root = override(c.root, one.value, one.table, one.key)
		c.LaidOver = append(c.LaidOver, one.variable)
	}
}

// InForce are the secrets that garm will use, from wherever they come.
func (c *Config) InForce() Secrets {
	of := func(table, key string) string {
		value, _ := section{table: c.root, faults: &faults{}}.sub(table).get(key)
		text, _ := value.(string)
		return text
	}
	return Secrets{JWT: of("jwt_auth", "secret"), Passphrase: of("database", "passphrase")}
}

// Whole is the config with what was laid over it. It holds secrets.
func (c *Config) Whole() ([]byte, error) { return encode(c.root) }
