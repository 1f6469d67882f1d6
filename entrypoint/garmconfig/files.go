package garmconfig

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"garm-entrypoint/internal/durable"
)

// checkFiles applies the rules that other files decide. It writes nothing.
func (c *Config) checkFiles(f *faults) {
	if c.Certificate != "" && c.Key != "" {
		c.checkTLS(f)
	}
	if filepath.IsAbs(c.SQLiteFile) {
		c.checkDatabase(f)
	}
	if c.LogFile != "" {
		c.checkLogFile(f)
	}
}

func (c *Config) checkTLS(f *faults) {
	// Reading a FIFO would hang, and /dev/zero would never end, before anybody can stop us.
	for _, path := range []string{c.Certificate, c.Key} {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			f.add("apiserver.tls:", "cannot read %s: it is not a regular file", path)
			return
		}
	}
	_, err := tls.LoadX509KeyPair(c.Certificate, c.Key)
	var path *fs.PathError
	switch {
	case err == nil:
	case errors.As(err, &path):
		f.add("apiserver.tls:", "cannot read %s: %w", path.Path, durable.Explain(err, path.Path))
	default:
		f.add("apiserver.tls:", "cannot use certificate %s with key %s: %w", c.Certificate, c.Key, err)
	}
}

// checkDatabase wants every file of the database to be ours to write, or, where one is missing, its directory. sqlite
// itself only says "unable to open database file" or "attempt to write a readonly database". The second database, for
// blobs, may be read-only: garm v0.2.1 starts with it.
func (c *Config) checkDatabase(f *faults) {
	const key = "database.sqlite3.db_file:"
	dir, base := filepath.Split(c.SQLiteFile)
	if info, err := os.Stat(c.SQLiteFile); err == nil && info.IsDir() {
		f.add(key, "%s is a directory: name a file in it", c.SQLiteFile)
		return
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		f.checkDatabaseFile(key, dir+base+suffix, unix.R_OK|unix.W_OK)
		f.checkDatabaseFile(key, dir+"blob-"+base+suffix, unix.R_OK)
	}
}

func (f *faults) checkDatabaseFile(key, path string, mode uint32) {
	err := access(path, mode)
	if err == unix.ENOENT {
		err = access(filepath.Dir(path), unix.W_OK|unix.X_OK)
	}
	if err != nil {
		f.add(key, "cannot write %s: %w", path, durable.Explain(err, path))
	}
}

// checkLogFile wants a file that garm can append to or make, together with its directories. garm's logger moves a file
// away that it cannot open.
func (c *Config) checkLogFile(f *faults) {
	const key = "logging.log_file:"
	const silent = "garm would run and log nothing anywhere"
	info, err := os.Stat(c.LogFile)
	if strings.HasSuffix(c.LogFile, "/") || err == nil && info.IsDir() {
		f.add(key, "%s is a directory: %s: name a file in it", c.LogFile, silent)
		return
	}
	if access(c.LogFile, unix.W_OK) == nil {
		return
	}
	dir := filepath.Dir(c.LogFile)
	err = access(dir, unix.W_OK|unix.X_OK)
	for err == unix.ENOENT && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		f.add(key, "cannot write %s: %s: %w", c.LogFile, silent, durable.Explain(err, filepath.Join(dir, "x")))
	}
}

func access(path string, mode uint32) error {
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}

// DatabaseIsNew tells whether garm will start on an empty database, and thus give itself to the first who asks: its
// sqlite file is missing or empty. An empty file is new whatever lies beside it: sqlite then deletes the -wal file
// unread (seen with garm v0.2.1: the admin in it was gone). Other backends cannot be looked into and never count as
// new.
func (c *Config) DatabaseIsNew() (bool, error) {
	if c.SQLiteFile == "" {
		return false, nil
	}
	info, err := os.Stat(c.SQLiteFile)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look at database %s: %w", c.SQLiteFile, durable.Explain(err, c.SQLiteFile))
	}
	return info.Mode().IsRegular() && info.Size() == 0, nil
}
