package state

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"garm-entrypoint/internal/durable"
	"garm-entrypoint/internal/infile"
)

// PasswordFile is the file in the state directory that keeps a generated password.
const PasswordFile = "admin-password"

// Keeper makes and keeps the generated password. It is on disk before anybody uses it, since a password that is in
// force and lost locks everybody out.
type Keeper struct {
	path string
	// most bytes that a password may have.
	most int
	// made: by this process, so it may remove it again.
	made bool
}

// NewKeeper is the keeper of a state directory, of a password of at most so many bytes.
func NewKeeper(dir string, most int) *Keeper {
	return &Keeper{path: filepath.Join(dir, PasswordFile), most: most}
}

// Path of the file; empty: there is none.
func (k *Keeper) Path() string { return k.path }

// Tidy removes the temporary files that a killed process left behind.
func (k *Keeper) Tidy() error { return durable.RemoveStale(k.path) }

// Load returns the kept password, "" when none is kept. A file that is there and cannot hold a password of ours is a
// fault: overwriting it might destroy the only copy of something.
func (k *Keeper) Load() (string, error) {
	value, err := infile.Value(k.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot use the kept password in %s: %w; remove the file if the password is not needed", k.path, durable.Explain(err, k.path))
	case !utf8.ValidString(value):
		return "", fmt.Errorf("cannot use the kept password in %s: it is not valid UTF-8; remove the file if the password is not needed", k.path)
	case len(value) > k.most:
		return "", fmt.Errorf("cannot use the kept password in %s: it has %d bytes, garm takes at most %d; remove the file if the password is not needed", k.path, len(value), k.most)
	}
	return value, nil
}

// NewPassword makes one of 192 random bits.
func NewPassword() (string, error) {
	var random [24]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("cannot generate a password: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(random[:]), nil
}

// Create makes a password and keeps it. Where another process has kept one in the meantime, that is the one.
func (k *Keeper) Create() (string, error) {
	password, err := NewPassword()
	if err != nil {
		return "", err
	}
	err = durable.Create(k.path, []byte(password+"\n"))
	if errors.Is(err, fs.ErrExist) {
		if kept, loadErr := k.Load(); loadErr != nil || kept != "" {
			return kept, loadErr
		}
		// Not to be read and yet there: a link to nowhere.
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the generated password (set GARM_PASSWORD, or GARM_STATE_DIR to a writable directory): %w", err)
	}
	k.made = true
	return password, nil
}

// Forget removes a password that was never in force. One that another process has kept may be, for its admin.
func (k *Keeper) Forget() error {
	if !k.made {
		return nil
	}
	return durable.Remove(k.path)
}
