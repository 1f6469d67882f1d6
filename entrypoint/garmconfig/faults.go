package garmconfig

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// faults collects what is wrong with one file, and what is not wrong for garm and yet cannot work.
type faults struct {
	path     string
	list     []fault
	warnings []fault
	unfilled []unfilled
	position map[string]int    // of each key in the file
	labels   map[string]string // what a reader calls a key
}

// fault is what is wrong with one key.
type fault struct {
	key  string
	text string
}

// add records that something is wrong with key: "<path>: <key> <what>". The first fault of a key is enough: what
// follows is mostly its consequence. Causes are not wrapped: a missing certificate must not look like a missing config.
func (f *faults) add(key, format string, args ...any) {
	if f.has(key) {
		return
	}
	text := fmt.Errorf(format, args...).Error()
	for _, u := range f.unfilled {
		if u.key == strings.TrimSuffix(key, ":") {
			text = u.String() + ": " + text
			break
		}
	}
	f.list = append(f.list, fault{key, text})
}

// warn records what garm takes though it cannot work, or should not.
func (f *faults) warn(key, format string, args ...any) {
	f.warnings = append(f.warnings, fault{key, fmt.Sprintf(format, args...)})
}

// has tells whether a key has its fault already.
func (f *faults) has(key string) bool {
	return slices.ContainsFunc(f.list, func(other fault) bool { return other.key == key })
}

// label sets what a reader calls a key, and all below it.
func (f *faults) label(key, label string) {
	if f.labels == nil {
		f.labels = map[string]string{}
	}
	f.labels[key] = label
}

// err joins all faults in the order of the file.
func (f *faults) err() error {
	var errs []error
	for _, line := range f.sorted(f.list) {
		errs = append(errs, errors.New(line))
	}
	return errors.Join(errs...)
}

// sorted words faults in the order of the file.
func (f *faults) sorted(list []fault) []string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b fault) int { return cmp.Compare(f.place(a.key), f.place(b.key)) })
	var lines []string
	for _, one := range list {
		lines = append(lines, fmt.Sprintf("%s: %s %s", f.path, f.shown(one.key), one.text))
	}
	return lines
}

// shown is a key as a reader calls it.
func (f *faults) shown(key string) string {
	if head, rest, found := strings.Cut(key, "."); f.labels[head] != "" {
		if !found {
			return f.labels[head]
		}
		return f.labels[head] + " " + rest
	}
	return key
}

// place is where a key stands; one that is missing, where its table stands; one whose table is missing, the end.
func (f *faults) place(key string) int {
	key = strings.ToLower(strings.TrimSuffix(key, ":"))
	for key != "" {
		if at, ok := f.position[key]; ok {
			return at
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return math.MaxInt
}

// positions numbers the keys of a file, and the tables that they imply. Each [[provider]] is one of its own.
func positions(keys []toml.Key) map[string]int {
	at := map[string]int{}
	provider := -1
	for i, key := range keys {
		parts := make([]string, len(key))
		for j, part := range key {
			parts[j] = strings.ToLower(part)
		}
		if parts[0] == "provider" {
			if len(parts) == 1 {
				provider++
			}
			if _, known := at["provider"]; !known {
				at["provider"] = i
			}
			parts[0] = providerKey(max(provider, 0))
		}
		for j := range parts {
			name := strings.Join(parts[:j+1], ".")
			if _, known := at[name]; !known {
				at[name] = i
			}
		}
	}
	return at
}
