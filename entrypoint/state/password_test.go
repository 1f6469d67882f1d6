package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func TestKeeper(t *testing.T) {
	t.Parallel()
	k := NewKeeper(t.TempDir(), 72)
	if got, err := k.Load(); got != "" || err != nil {
		t.Errorf("nothing kept: %q, %v", got, err)
	}
	made, err := k.Create()
	if err != nil {
		t.Fatal(err)
	}
	// A second one would destroy the only copy of the first, which another process may have made.
	if again, err := k.Create(); again != made || err != nil {
		t.Errorf("made %q (%v) over %q", again, err, made)
	}
	if got, err := k.Load(); got != made || err != nil {
		t.Errorf("kept %q (%v), made %q", got, err, made)
	}
	for range 2 {
		if err := k.Forget(); err != nil {
			t.Error(err)
		}
	}
	if other, err := k.Create(); err != nil || other == made {
		t.Errorf("made the same again (%v)", err)
	}
}

func TestKeeperLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	theirs := NewKeeper(t.TempDir(), 72)
	ours := NewKeeper(filepath.Dir(theirs.path), 72)
	password, err := theirs.Create()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ours.Create(); got != password || err != nil {
		t.Errorf("another password than is kept: %v", err)
	}
	if err := ours.Forget(); err != nil || names(t, filepath.Dir(theirs.path)) != PasswordFile {
		t.Errorf("removed what another process made: %v", err)
	}
	if err := theirs.Forget(); err != nil || names(t, filepath.Dir(theirs.path)) != "" {
		t.Errorf("left what it made and was never in force: %v", err)
	}
}

func TestKeeperLinkToNowhere(t *testing.T) {
	t.Parallel()
	k := NewKeeper(t.TempDir(), 72)
	if err := os.Symlink("/nowhere/at/all", k.path); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Create(); got != "" || err == nil || !strings.Contains(err.Error(), "cannot keep the generated password") {
		t.Errorf("%q, %v", got, err)
	}
}
