package infile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Limits for Read, in bytes. No value that garm takes is longer than some hundred; a bundle of all public CAs has 250
// kB.
const (
	MaxValue = 64 << 10
	MaxPEM   = 4 << 20
)

// Value returns the value that a file holds, less one trailing line end: secrets are mostly written by echo, and garm
// would make the newline part of the password.
func Value(path string) (string, error) {
	data, err := Read(path, MaxValue)
	if err != nil {
		return "", err
	}
	data = bytes.TrimSuffix(data, []byte("\n"))
	data = bytes.TrimSuffix(data, []byte("\r"))
	if len(data) == 0 {
		return "", errors.New("it is empty")
	}
	return string(data), nil
}

// Read reads a regular file of at most limit bytes. Anything else could block for ever (a FIFO) or never end
// (/dev/zero), before we can be stopped.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, unwrapPath(err)
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, unwrapPath(err)
	case info.IsDir():
		return nil, syscall.EISDIR
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, unwrapPath(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, nil
}

// unwrapPath drops the operation and the path, which our own message names.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
