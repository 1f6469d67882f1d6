package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"unicode/utf8"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/durable"
)

// passwordFile is the file in the state directory that keeps a generated
// password.
const passwordFile = "admin-password"

// keeper makes and keeps the generated password. It is on disk before anybody
// uses it, since a password that is in force and lost locks everybody out.
type keeper struct {
	path string
	// made: by this process, so it may remove it again.
	made bool
}

func newKeeper(stateDir string) *keeper {
	return &keeper{path: filepath.Join(stateDir, passwordFile)}
}

// load returns the kept password, "" when none is kept. A file that is there
// and cannot hold a password of ours is a fault: overwriting it might destroy
// the only copy of something.
func (k *keeper) load() (string, error) {
	value, err := readValueFile(k.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("cannot use the kept password in %s: %w; remove the file if the password is not needed", k.path, durable.Explain(err, k.path))
	case !utf8.ValidString(value):
		return "", fmt.Errorf("cannot use the kept password in %s: it is not valid UTF-8; remove the file if the password is not needed", k.path)
	case len(value) > initializer.MaxPassword:
		return "", fmt.Errorf("cannot use the kept password in %s: it has %d bytes, garm takes at most %d; remove the file if the password is not needed", k.path, len(value), initializer.MaxPassword)
	}
	return value, nil
}

// newPassword makes one of 192 random bits.
func newPassword() (string, error) {
	var random [24]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("cannot generate a password: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(random[:]), nil
}

// create makes a password and keeps it. Where another process has kept one in
// the meantime, that is the one.
func (k *keeper) create() (string, error) {
	password, err := newPassword()
	if err != nil {
		return "", err
	}
	err = durable.Create(k.path, []byte(password+"\n"))
	if errors.Is(err, fs.ErrExist) {
		if kept, loadErr := k.load(); loadErr != nil || kept != "" {
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

// forget removes a password that was never in force. One that another process
// has kept may be, for its admin.
func (k *keeper) forget() error {
	if !k.made {
		return nil
	}
	return durable.Remove(k.path)
}
