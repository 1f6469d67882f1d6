package state

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"garm-entrypoint/internal/durable"
	"garm-entrypoint/internal/infile"
)

// SecretsName is the file in the state directory that keeps the fingerprints of garm's own secrets.
const SecretsName = "secrets.json"

// Fingerprints tell whether garm's secrets are still those that a proven server had. They are keyed, and the key is
// random: nobody can look a secret up by them.
type Fingerprints struct {
	Key        []byte `json:"key"`
	JWT        []byte `json:"jwt_secret"`
	Passphrase []byte `json:"database_passphrase"`
}

// NewFingerprints of these secrets, under a key of their own.
func NewFingerprints(jwt, passphrase string) (*Fingerprints, error) {
	f := &Fingerprints{Key: make([]byte, sha256.Size)}
	if _, err := rand.Read(f.Key); err != nil {
		return nil, fmt.Errorf("cannot make a key for the fingerprints of garm's secrets: %w", err)
	}
	f.JWT, f.Passphrase = f.of(jwt), f.of(passphrase)
	return f, nil
}

func (f *Fingerprints) of(secret string) []byte {
	mac := hmac.New(sha256.New, f.Key)
	_, _ = mac.Write([]byte(secret)) // never fails, by its contract
	return mac.Sum(nil)
}

// JWTIs reports whether the jwt secret was this one.
func (f *Fingerprints) JWTIs(secret string) bool { return hmac.Equal(f.JWT, f.of(secret)) }

// PassphraseIs reports whether the database's passphrase was this one.
func (f *Fingerprints) PassphraseIs(secret string) bool {
	return hmac.Equal(f.Passphrase, f.of(secret))
}

// SecretsFile keeps Fingerprints. A zero one keeps nothing.
type SecretsFile struct{ path string }

// NewSecretsFile is the one of a state directory; "": none.
func NewSecretsFile(dir string) SecretsFile {
	if dir == "" {
		return SecretsFile{}
	}
	return SecretsFile{filepath.Join(dir, SecretsName)}
}

// Path of the file; empty: there is none.
func (f SecretsFile) Path() string { return f.path }

// Load returns what is kept; nil: nothing is.
func (f SecretsFile) Load() (*Fingerprints, error) {
	if f.path == "" {
		return nil, nil
	}
	data, err := infile.Read(f.path, infile.MaxValue)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", f.path, durable.Explain(err, f.path))
	}
	kept := &Fingerprints{}
	if err := json.Unmarshal(data, kept); err != nil || len(kept.Key) == 0 || len(kept.JWT) == 0 || len(kept.Passphrase) == 0 {
		return nil, fmt.Errorf("cannot use %s: it is damaged; it is made anew after the next login", f.path)
	}
	return kept, nil
}

// Save keeps fingerprints durably, 0600.
func (f SecretsFile) Save(kept *Fingerprints) error {
	if f.path == "" {
		return nil
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return fmt.Errorf("cannot keep the fingerprints of garm's secrets: %w", err)
	}
	if err := durable.Replace(f.path, append(data, '\n')); err != nil {
		return fmt.Errorf("cannot keep the fingerprints of garm's secrets: %w", err)
	}
	return nil
}

// Tidy removes the temporary files that a killed process left behind.
func (f SecretsFile) Tidy() error {
	if f.path == "" {
		return nil
	}
	return durable.RemoveStale(f.path)
}
