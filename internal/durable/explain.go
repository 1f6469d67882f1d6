package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Explain says why an operation on path failed and what cures it. It wraps err and begins with the system's own words,
// without the path that an os error repeats; the caller says what was tried:
//
//	fmt.Errorf("cannot write %s: %w", path, durable.Explain(err, path))
//
// A refused permission names what stands in the way, its owner and mode, and who we are. An error that needs no
// explanation comes back as its cause.
func Explain(err error, path string) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	switch errno {
	case unix.EACCES, unix.EPERM:
		return fmt.Errorf("%w: %s", errno, obstacle(path))
	case unix.EROFS:
		return fmt.Errorf("%w: mount %s writable, or use another directory", errno, filepath.Dir(path))
	case unix.ENOSPC, unix.EDQUOT:
		return fmt.Errorf("%w: free space or inodes in %s", errno, filepath.Dir(path))
	case unix.ENOENT:
		if dir := missingDir(path); dir != "" {
			return fmt.Errorf("%w: there is no directory %s: create it, or mount a volume there", errno, dir)
		}
	case unix.EEXIST:
		return fmt.Errorf("%w: it is never overwritten: remove it by hand if it is not needed", errno)
	}
	return errno
}

// missingDir is the topmost missing directory above path, "" when there is none.
func missingDir(path string) string {
	missing := ""
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return missing
		}
		missing = dir
	}
}

// obstacle says which file or directory on the way to path refuses us: a directory that cannot be entered, a file that
// cannot be read or written, or else the directory in which nothing can be made.
func obstacle(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if access(filepath.Dir(dir), unix.X_OK) && !access(dir, unix.X_OK) {
			return ownership(dir, "enterable")
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if _, err := os.Lstat(path); err == nil {
		if !access(path, unix.R_OK) {
			return ownership(path, "readable")
		}
		if !access(path, unix.W_OK) {
			return ownership(path, "writable")
		}
	}
	return ownership(filepath.Dir(path), "writable")
}

func access(path string, mode uint32) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS) == nil
}

// ownership words the difference between who owns path and who we are.
func ownership(path, wanted string) string {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fmt.Sprintf("%s is not %s for user %d:%d", path, wanted, os.Geteuid(), os.Getegid())
	}
	kind := "file"
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		kind = "directory"
	}
	return fmt.Sprintf("%s %s is owned by %d:%d (mode %04o) and we run as %d:%d: make it %s for that user",
		kind, path, stat.Uid, stat.Gid, stat.Mode&0o7777, os.Geteuid(), os.Getegid(), wanted)
}
