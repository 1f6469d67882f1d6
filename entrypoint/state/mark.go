package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"garm-entrypoint/internal/durable"
)

// MarkFile is the file in the state directory that stands from before garm's first start until the login that proves
// the admin is ours.
const MarkFile = "first-boot"

// Mark says that a first boot is under way: whatever the database looks like by now, it may have been taken by somebody
// else. It can only make us stricter.
type Mark struct {
	path string
}

// NewMark is the mark of a state directory. A zero Mark never stands and cannot be set.
func NewMark(dir string) Mark {
	return Mark{path: filepath.Join(dir, MarkFile)}
}

// Stands reports whether an earlier first boot was not proven.
func (m Mark) Stands() (bool, error) {
	if m.path == "" {
		return false, nil
	}
	_, err := os.Lstat(m.path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err == nil, nil
	}
	return false, fmt.Errorf("cannot look for %s: %w", m.path, durable.Explain(err, m.path))
}

// Set makes it durable.
func (m Mark) Set() error {
	if m.path == "" {
		return nil
	}
	err := durable.Create(m.path, []byte("This database's first boot is not proven yet. garm-entrypoint removes this file after the first login.\n"))
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Remove is for after the proof.
func (m Mark) Remove() error {
	if m.path == "" {
		return nil
	}
	return durable.Remove(m.path)
}

// Path of the file; empty: there is none.
func (m Mark) Path() string { return m.path }

// Tidy removes the temporary files that a killed process left behind.
func (m Mark) Tidy() error { return durable.RemoveStale(m.path) }
