package postmortem

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sqliteMagic begins every SQLite database that is not empty (https://sqlite.org/fileformat.html).
const sqliteMagic = "SQLite format 3\x00"

// Database says why an SQLite database at path could not be used, and the cure; "" when nothing is to be seen.
func Database(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return fmt.Sprintf("%s is a directory: name a file in it", path)
	case unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS) != nil:
		return fmt.Sprintf("the database %s cannot be written: mount it writable, and make it the user's we run as", path)
	}
	// Opened only to read its head: sqlite's locks are of the process, and this one has none.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, len(sqliteMagic))
	n, err := io.ReadFull(file, head)
	if n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || string(head) == sqliteMagic {
		return ""
	}
	return fmt.Sprintf("%s is not a database: restore it from your backup, or move it away to begin anew", path)
}

// Space says that the file system of dir is full, or nearly, and the cure; "" when it is not.
func Space(dir string) string {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return ""
	}
	return space(dir, stat)
}

func space(dir string, stat unix.Statfs_t) string {
	free := stat.Bavail * uint64(stat.Bsize)
	switch {
	case stat.Blocks > 0 && free < needSpace: // some have no such numbers
		return fmt.Sprintf("the file system of %s has %s left: free space in it, or make it larger", filepath.Clean(dir), size(free))
	case stat.Files > 0 && stat.Ffree == 0:
		return fmt.Sprintf("the file system of %s has no inode left: remove files in it", filepath.Clean(dir))
	}
	return ""
}
