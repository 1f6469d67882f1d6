package provision

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Sources are where the files and the secrets come from.
type Sources struct {
	// Variable returns an environment variable; nil: there are none.
	Variable func(name string) (value string, ok bool)
	// Incomplete accepts that files and variables of secrets do not exist yet, with a warning for each: such a declaration
	// can be compared, without those secrets, and not applied. A plan of what was exported needs no more.
	Incomplete bool
}

// Limits of what is read, in bytes.
const (
	maxFile   = 4 << 20
	maxSecret = 64 << 10
)

// fileEnding of the files in a provision directory.
const fileEnding = ".toml"

// processKey keys the digests of this process.
var processKey = func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails (crypto/rand)
	return key
}()

// loader reads files and remembers in a digest what it read.
type loader struct {
	sources Sources
	digest  hash.Hash
	faults  faults
}

// Load reads provision files: each path is a file, or a directory whose *.toml are read in the order of their names.
// All faults are in the one error, in the order of files and lines. Nothing is interpolated.
func Load(paths []string, sources Sources) (*Declared, error) {
	l := &loader{sources: sources, digest: hmac.New(sha256.New, processKey)}
	d := newDeclarer(l)
	for _, path := range l.files(paths) {
		data, err := l.read(path, maxFile)
		if err != nil {
			l.faults.add(Place{path, 0}, "%v", err)
			continue
		}
		document, err := parseDocument(path, data)
		var fault *Fault
		if errors.As(err, &fault) {
			l.faults.list = append(l.faults.list, fault)
			continue
		}
		d.document(document)
	}
	declared := d.finish()
	declared.Digest = base64.StdEncoding.EncodeToString(l.digest.Sum(nil))
	return declared, l.faults.err()
}

// files lists the files of the paths. Kubernetes mounts a ConfigMap as links into a directory that begins with two
// dots; names that begin with a dot are nobody's provision file.
func (l *loader) files(paths []string) []string {
	var all []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			l.faults.add(Place{path, 0}, "%v", plain(err))
			continue
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			l.faults.add(Place{path, 0}, "%v", plain(err))
			continue
		}
		for _, entry := range entries { // sorted by name
			if name := entry.Name(); strings.HasSuffix(name, fileEnding) && !strings.HasPrefix(name, ".") {
				all = append(all, filepath.Join(path, name))
			}
		}
	}
	return all
}

// read reads a regular file of at most limit bytes: anything else could block for ever or never end.
func (l *loader) read(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, plain(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	l.saw(path, data)
	return data, nil
}

// saw adds to the digest, each part with its length, so that nothing can move from one part to the next unseen.
func (l *loader) saw(name string, data []byte) {
	fmt.Fprintf(l.digest, "%d %d %s", len(name), len(data), name)
	_, _ = l.digest.Write(data)
}

// readable reports whether everybody may read the file.
func readable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().Perm()&0o004 != 0
}

// plain drops the operation and the path, which our own message names.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// beside makes a path relative to the file that names it.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// trimLineEnd cuts one trailing line end, LF or CRLF: secrets are mostly written by echo.
func trimLineEnd(s string) string {
	line, ended := strings.CutSuffix(s, "\n")
	if !ended {
		return s
	}
	return strings.TrimSuffix(line, "\r")
}

// uniq returns the sorted set.
func uniq(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
