package state

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"garm-entrypoint/internal/durable"
	"garm-entrypoint/internal/infile"
)

// ProvisionName is the file that keeps what provisioning remembers of the server: what is owned, and fingerprints.
const ProvisionName = "provision.json"

// maxProvision bounds what is read of it, in bytes: each object takes some 500.
const maxProvision = 64 << 20

// ProvisionFile keeps what provisioning remembers; it does not look into it. Without a directory nothing is kept.
type ProvisionFile struct {
	path string
}

// NewProvisionFile is the one in a state directory; "": nowhere.
func NewProvisionFile(dir string) ProvisionFile {
	if dir == "" {
		return ProvisionFile{}
	}
	return ProvisionFile{filepath.Join(dir, ProvisionName)}
}

// Load returns what is kept; nil: nothing is. Without a directory it says what to do.
func (f ProvisionFile) Load() ([]byte, error) {
	if f.path == "" {
		return nil, errors.New("there is nowhere to remember what is in force: set GARM_STATE_DIR to a writable directory")
	}
	data, err := infile.Read(f.path, maxProvision)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use %s: %w", f.path, durable.Explain(err, f.path))
	}
	return data, nil
}

// Save keeps data durably, 0600.
func (f ProvisionFile) Save(data []byte) error {
	if f.path == "" {
		return nil
	}
	return durable.Replace(f.path, data)
}
