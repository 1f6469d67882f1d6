package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"garm-entrypoint/internal/durable"
)

// markFile is the file in the state directory that stands from before garm's
// first start until the login that proves the admin is ours.
const markFile = "first-boot"

// mark says that a first boot is under way: whatever the database looks like by
// now, it may have been taken by somebody else. It can only make us stricter.
type mark struct {
	path string
}

func newMark(stateDir string) mark {
	return mark{path: filepath.Join(stateDir, markFile)}
}

// stands reports whether an earlier first boot was not proven.
func (m mark) stands() (bool, error) {
	if m.path == "" {
		return false, nil
	}
	_, err := os.Lstat(m.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err == nil, nil
	}
	return false, fmt.Errorf("cannot look for %s: %w", m.path, durable.Explain(err, m.path))
}

// set makes it durable.
func (m mark) set() error {
	if m.path == "" {
		return nil
	}
	err := durable.Create(m.path, []byte("This database's first boot is not proven yet. garm-entrypoint removes this file after the first login.\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// remove is for after the proof.
func (m mark) remove() error {
	if m.path == "" {
		return nil
	}
	return durable.Remove(m.path)
}
