package garmconfig

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// passphraseBytes is the length garm wants: the key of AES-256.
const passphraseBytes = 32

// parse applies the rules that the text alone decides, in the order of garm v0.2.1 (config.Config.Validate). The config
// is nil when data is not TOML.
func parse(path string, data []byte) (*Config, *faults) {
	faults := &faults{path: path}
	root := decode(data, faults)
	if root == nil && len(faults.list) > 0 {
		return nil, faults
	}
	config := &Config{Path: path, root: root}
	top := section{table: root, faults: faults}
	config.parseAPIServer(top.sub("apiserver"))
	config.parseDatabase(top.sub("database"))
	config.parseDefault(top.sub("default"))
	parseJWT(top.sub("jwt_auth"))
	config.parseLogging(top.sub("logging"))
	if value, ok := root.get("provider"); ok {
		list, _ := tables(value)
		config.Providers = len(list)
	}
	return config, faults
}

func (c *Config) parseAPIServer(s section) {
	c.Bind = s.text("bind")
	ip := net.ParseIP(c.Bind)
	switch {
	case c.Bind == "":
		s.faults.add("apiserver.bind", `is missing, garm has no default: set it to an IP address, "0.0.0.0" for all`)
	case ip == nil:
		s.faults.add("apiserver.bind", `%q is not an IP address: garm takes no host name, port or zone here; "0.0.0.0" means all`, c.Bind)
	case ip.To4() != nil && strings.Contains(c.Bind, ":"):
		s.faults.add("apiserver.bind", "%q makes garm fail with \"too many colons\": write %q", c.Bind, ip.To4())
	}
	port := typed[int64](s, "port", "a number without quotes, 1 to 65535")
	if _, ok := s.get("port"); !ok {
		s.faults.add("apiserver.port", "is missing, garm has no default: set it to 9997")
	} else if port < 1 || port > 65535 {
		s.faults.add("apiserver.port", "must be a number from 1 to 65535")
	}
	c.Port = int(port)
	c.TLS = typed[bool](s, "use_tls", "true or false, without quotes")
	tls := s.sub("tls")
	certificate, key := tls.text("certificate"), tls.text("key")
	if !c.TLS {
		return
	}
	c.Certificate, c.Key = certificate, key
	const advice = "is missing: set it to the path of a PEM file, or use_tls = false"
	if certificate == "" {
		s.faults.add(tls.path("certificate"), advice)
	}
	if key == "" {
		s.faults.add(tls.path("key"), advice)
	}
}

func (c *Config) parseDatabase(s section) {
	c.Backend = s.text("backend")
	if passphrase := s.text("passphrase"); len(passphrase) != passphraseBytes {
		s.faults.add("database.passphrase", "has %d bytes: it must have exactly %d, and must never change once credentials are stored",
			len(passphrase), passphraseBytes)
	}
	file := s.sub("sqlite3").text("db_file")
	switch c.Backend {
	case "sqlite3":
	case "mysql", "postgresql": // the latter after v0.2.1
		return
	case "":
		s.faults.add("database.backend", `is missing: set it to "sqlite3"`)
		return
	default:
		s.faults.add("database.backend", `%q is not known: set it to "sqlite3"`, c.Backend)
		return
	}
	// garm hands "<db_file>?<options>" to the sqlite3 driver, which cuts at the first question mark.
	c.SQLiteFile, _, _ = strings.Cut(file, "?")
	if file == "" {
		s.faults.add("database.sqlite3.db_file", "is missing: set it to an absolute path")
	} else if !filepath.IsAbs(file) {
		s.faults.add("database.sqlite3.db_file", "%q must be an absolute path", file)
	}
}

// parseDefault does not show the URLs: they may hold credentials.
func (c *Config) parseDefault(s section) {
	c.LogFile = s.text("log_file") // where old configs have it
	for _, u := range []struct {
		key string
		to  *string
	}{{"metadata_url", &c.MetadataURL}, {"callback_url", &c.CallbackURL}, {"webhook_url", &c.WebhookURL}} {
		*u.to = s.text(u.key)
		if _, err := url.ParseRequestURI(*u.to); *u.to != "" && err != nil {
			s.faults.add(s.path(u.key), "is not a URL: write it like https://garm.example.com/...")
		}
	}
}

func parseJWT(s section) {
	if s.text("secret") == "" {
		s.faults.add("jwt_auth.secret", "is missing: set it to a long random string")
	}
	// garm takes text or a number here, of which only 0 is a duration.
	value, ok := s.get("time_to_live")
	if !ok {
		s.faults.add("jwt_auth.time_to_live", `is missing, garm has no default: set it to "24h" or more`)
	} else if _, err := time.ParseDuration(fmt.Sprint(value)); err != nil {
		s.faults.add("jwt_auth.time_to_live", `is not a duration: write it like "24h"`)
	}
}

// parseLogging runs after parseDefault.
func (c *Config) parseLogging(s section) {
	choice := func(key string, values ...string) string {
		value := s.text(key)
		if value == "" {
			return values[0]
		}
		if !slices.Contains(values, value) {
			s.faults.add(s.path(key), "%q is not known: use one of %s", value, strings.Join(values, ", "))
		}
		return value
	}
	c.LogLevel = choice("log_level", "info", "debug", "warn", "error")
	c.LogFormat = choice("log_format", "text", "json")
	if file := s.text("log_file"); file != "" {
		c.LogFile = file
	}
}
