package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// probe is the name under which Writable tries a directory; only its temp form ever exists.
const probe = "writable-probe"

// Create writes data to a new file at path, mode 0600, and returns when both the file and its name are on disk. After a
// crash at any moment the file is either whole or not there at all. A path that exists, even as a dangling link, is
// left as it is and gives an error that wraps os.ErrExist.
//
// The order is the one fsync(2) asks for: temp file in the same directory, write, fsync, rename, fsync of the
// directory.
func Create(path string, data []byte) error {
	tmp, err := writeTemp(path, data, true)
	if err == nil {
		err = publish(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	} else if tmp != "" {
		_ = os.Remove(tmp) // what is left is found by RemoveStale
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, Explain(err, path))
	}
	return nil
}

// Replace is Create for a file of ours that may be there already and is then replaced as a whole.
func Replace(path string, data []byte) error {
	tmp, err := writeTemp(path, data, true)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	} else if tmp != "" {
		_ = os.Remove(tmp)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, Explain(err, path))
	}
	return nil
}

// Remove unlinks the file at path and returns when that is on disk. A missing file is no error.
func Remove(path string) error {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("cannot remove %s: %w", path, Explain(err, filepath.Dir(path)))
	}
	return nil
}

// RemoveStale removes the temp files that an earlier Create of path left behind when it was killed. Call it before
// Create, from one process at a time. A missing directory is no error.
func RemoveStale(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read directory %s: %w", dir, Explain(err, dir))
	}
	var faults []error
	for _, entry := range entries {
		if entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), tempPrefix(path)) {
			faults = append(faults, Remove(filepath.Join(dir, entry.Name())))
		}
	}
	return errors.Join(faults...)
}

// Writable proves that a file can be created and filled in dir, by doing so and removing it again. Access rights alone
// would not show a read-only mount, a full disk or a quota.
func Writable(dir string) error {
	path := filepath.Join(dir, probe)
	tmp, err := writeTemp(path, []byte{'\n'}, false)
	if tmp != "" {
		// Another process that tries the same takes it for a stale one.
		if gone := os.Remove(tmp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write in directory %s: %w", dir, Explain(err, path))
	}
	return RemoveStale(path)
}

// tempPrefix is how the names of Create's temp files for path begin.
func tempPrefix(path string) string { return "." + filepath.Base(path) + ".tmp-" }

// writeTemp writes data to a new temp file beside path and, if asked to, syncs it. The name is empty when no file was
// made.
func writeTemp(path string, data []byte, sync bool) (name string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), tempPrefix(path)+"*")
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Chmod(0o600) // whatever the umask took away
	}
	if err == nil && sync {
		err = file.Sync()
	}
	return file.Name(), errors.Join(err, file.Close())
}

// publish gives the file tmp the name path unless that name is taken.
func publish(tmp, path string) error {
	err := unix.Renameat2(unix.AT_FDCWD, tmp, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE)
	switch err {
	case unix.EINVAL, unix.ENOSYS, unix.EOPNOTSUPP: // NFS, 9p and some FUSE file systems know no flags
		return linkUnlink(tmp, path)
	}
	return err
}

// linkUnlink is publish for file systems without RENAME_NOREPLACE: link(2) never replaces. A crash between the two
// leaves only a stale temp name.
func linkUnlink(tmp, path string) error {
	if err := os.Link(tmp, path); err != nil {
		return err
	}
	return os.Remove(tmp)
}

// syncDir makes changes of names in dir durable. File systems that cannot sync a directory (CIFS, some FUSE) say EINVAL
// or EOPNOTSUPP; they have no better promise to give.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	err = file.Sync()
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}
