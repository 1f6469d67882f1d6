package settings

import (
	"os"
	"path/filepath"
)

// Values of GARM_PROVISION_DRIFT.
const (
	DriftReport = "report"
	DriftHeal   = "heal"
)

// ProvisionDir is the directory beside garm's config whose files are taken when GARM_PROVISION names none.
const ProvisionDir = "provision.d"

// ProvisionPaths are the files or directories that declare what the server is to hold; none: nothing is declared.
func (s *Settings) ProvisionPaths() []string {
	if s.Provision != "" {
		return []string{s.Provision}
	}
	dir := filepath.Join(filepath.Dir(s.Config), ProvisionDir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return []string{dir}
	}
	return nil
}
