package garmconfig

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// What garm v0.2.1 knows: config.Provider.Validate and runner/providers/external.NewProvider.
const (
	providerType       = "external"
	providerExecutable = "garm-external-provider" // in provider_dir
)

var interfaceVersions = []string{"", "v0.1.0", "v0.1.1"}

// checkProviders applies garm's rules for [[provider]] sections. garm itself only comes to them when it has opened its
// database, and a guarded first boot runs without them: a fault would show when admin and password are made.
func (c *Config) checkProviders(f *faults) {
	value, ok := c.root.get("provider")
	if !ok {
		return
	}
	list, ok := tables(value)
	if !ok {
		f.add("provider", "is no list of tables: write [[provider]] above its keys")
		return
	}
	names := map[string]bool{}
	for i, t := range list {
		s := section{table: t, name: providerKey(i), faults: f}
		name, _ := t.get("name")
		f.label(s.name, fmt.Sprintf("provider %d:", i+1))
		if text, ok := name.(string); ok && text != "" {
			f.label(s.name, fmt.Sprintf("provider %q:", text))
			if names[text] {
				f.add(s.path("name"), "is there twice: give each provider a name of its own")
			}
			names[text] = true
		}
		checkProvider(s)
	}
}

// providerKey names the provider with this index in a fault's key.
func providerKey(i int) string { return fmt.Sprintf("provider[%d]", i) }

func checkProvider(s section) {
	if s.text("name") == "" {
		s.faults.add(s.path("name"), "is missing: garm takes no provider without")
	}
	if kind := s.text("provider_type"); kind == "" {
		s.faults.add(s.path("provider_type"), `is missing: set it to %q`, providerType)
	} else if kind != providerType {
		s.faults.add(s.path("provider_type"), "%q is not known: set it to %q, and provider_executable to its program (garm has no built-in providers any more)", kind, providerType)
	}
	s.text("description")
	typed[bool](s, "disable_jit_config", "true or false, without quotes")
	external := s.sub("external")
	if version := external.text("interface_version"); !slices.Contains(interfaceVersions, version) {
		s.faults.add(external.path("interface_version"), "%q is not known: use one of %s", version, strings.Join(interfaceVersions[1:], ", "))
	}
	checkStrings(external, "environment_variables")
	checkProviderConfig(external)
	checkExecutable(external)
}

// checkStrings wants a list of strings at key, if there is anything.
func checkStrings(s section, key string) {
	value, ok := s.get(key)
	list, isList := value.([]any)
	isString := func(item any) bool { _, ok := item.(string); return ok }
	if ok && (!isList || !allOf(list, isString)) {
		s.faults.add(s.path(key), `must be a list of strings: write it like ["AWS_"]`)
	}
}

func allOf(list []any, holds func(any) bool) bool {
	return !slices.ContainsFunc(list, func(item any) bool { return !holds(item) })
}

// checkProviderConfig wants a config file to be there, as garm does. Whether it can be read is only seen by the
// provider, at each of its calls.
func checkProviderConfig(s section) {
	const key = "config_file"
	path := s.text(key)
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		s.faults.add(s.path(key), "%q must be an absolute path", path)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.faults.add(s.path(key), "%s", missing(path, err))
	case info.IsDir():
		s.faults.warn(s.path(key), "%s is a directory: garm starts, and each call of the provider will fail", path)
	case access(path, unix.R_OK) != nil:
		s.faults.warn(s.path(key), "%s cannot be read by the user we run as: garm starts, and each call of the provider will fail", path)
	}
}

// checkExecutable wants a program, as garm does: access(2) with X_OK, which a directory passes too.
func checkExecutable(s section) {
	key := "provider_executable"
	path := s.text(key)
	if dir := s.text("provider_dir"); path == "" && dir != "" {
		key, path = "provider_dir", filepath.Join(dir, providerExecutable)
	}
	if path == "" {
		s.faults.add(s.path(key), "is missing: set it to the absolute path of the provider's program")
		return
	}
	if !filepath.IsAbs(path) {
		s.faults.add(s.path(key), "%q must be an absolute path", path)
		return
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.faults.add(s.path(key), "%s", missing(path, err))
	case unix.Access(path, unix.X_OK) != nil:
		s.faults.add(s.path(key), "%s is not executable for the user we run as: chmod +x it", path)
	case !info.Mode().IsRegular():
		s.faults.warn(s.path(key), "%s is no file: garm starts, and each call of the provider will fail", path)
	case info.Size() == 0:
		s.faults.warn(s.path(key), "%s is empty: garm starts, and each call of the provider will fail", path)
	}
}

// missing words why there is no file at path.
func missing(path string, err error) string {
	cause := err
	if p, ok := err.(*fs.PathError); ok {
		cause = p.Err
	}
	return fmt.Sprintf("%s: %v: put it there, or take the provider out", path, cause)
}

// tables is a value as a list of tables: [[name]], or the same inline.
func tables(value any) ([]table, bool) {
	switch value := value.(type) {
	case []map[string]any:
		list := make([]table, len(value))
		for i, t := range value {
			list[i] = t
		}
		return list, true
	case []any:
		list := make([]table, len(value))
		for i, item := range value {
			t, ok := item.(map[string]any)
			if !ok {
				return nil, false
			}
			list[i] = t
		}
		return list, true
	}
	return nil, false
}
