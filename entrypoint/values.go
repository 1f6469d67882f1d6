package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of what we read, in bytes. No value that garm takes is longer than
// some hundred; a bundle of all public CAs has 250 kB.
const (
	maxValueFile = 64 << 10
	maxPEMFile   = 4 << 20
)

// readValueFile returns the value that a file holds, less one trailing line
// end: secrets are mostly written by echo, and garm would make the newline
// part of the password.
func readValueFile(path string) (string, error) {
	data, err := readFile(path, maxValueFile)
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

// readFile reads a regular file of at most limit bytes. Anything else could
// block for ever (a FIFO) or never end (/dev/zero), before we can be stopped.
func readFile(path string, limit int64) ([]byte, error) {
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

// check says what is wrong with a value of a kind; the value itself is not
// shown for kinds that may hold secrets.
func (k kind) check(value string) error {
	switch k {
	case toggle:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Errorf("%q is neither true nor false", value)
		}
	case span:
		d, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30s or 5m", value)
		}
		if d < 0 {
			return fmt.Errorf("%q is negative", value)
		}
	case octal:
		if n, err := strconv.ParseUint(value, 8, 32); err != nil || n > 0o777 {
			return fmt.Errorf("%q is not an octal number from 0000 to 0777", value)
		}
	case path:
		if strings.ContainsRune(value, 0) {
			return errors.New("it holds a NUL byte")
		}
	}
	return nil
}

// The values below have passed check.

func isTrue(v string) bool {
	b, _ := strconv.ParseBool(v)
	return b
}

func duration(v string) time.Duration {
	d, _ := time.ParseDuration(v)
	return d
}

func umask(v string) int {
	n, _ := strconv.ParseUint(v, 8, 32)
	return int(n)
}
