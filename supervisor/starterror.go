package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// Exit codes of a program that was not executed, as shells give them (POSIX sh, 2.8.2).
const (
	codeNotExecutable = 126
	codeNotFound      = 127
)

// StartError says why a program was not executed.
type StartError struct {
	Path string // the program, as far as it was found
	Err  error  // the cause, with what the user can do about it

	code int
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot execute %q: %v", e.Path, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ExitCode is 127 for a program that does not exist and 126 for one that exists but cannot be executed.
func (e *StartError) ExitCode() int { return e.code }

// startError explains what execve(2) or fork(2) answered for path.
func startError(path string, err error) *StartError {
	e := &StartError{Path: path, Err: err, code: codeNotExecutable}
	switch {
	case errors.Is(err, syscall.ENOENT):
		if _, statErr := os.Stat(path); statErr != nil {
			e.code = codeNotFound
			break
		}
		e.Err = fmt.Errorf("its interpreter%s does not exist: %w", interpreter(path), err)
	case errors.Is(err, syscall.ENOTDIR):
		e.code = codeNotFound
	case errors.Is(err, syscall.EACCES):
		e.Err = fmt.Errorf("%s: %w", whyDenied(path), err)
	case errors.Is(err, syscall.ENOEXEC):
		e.Err = fmt.Errorf("%s: %w", whyNoFormat(path), err)
	case errors.Is(err, syscall.EAGAIN):
		e.Err = fmt.Errorf("no more processes are allowed, see the pids limit of the container or ulimit -u: %w", err)
	case errors.Is(err, syscall.E2BIG):
		e.Err = fmt.Errorf("its arguments and environment are too large: %w", err)
	}
	return e
}

// whyDenied explains EACCES.
func whyDenied(path string) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "a directory on its path may not be searched"
	case info.IsDir():
		return "it is a directory"
	case !info.Mode().IsRegular():
		return "it is not a regular file"
	case info.Mode()&0o111 == 0:
		return "it is not executable, chmod +x helps"
	case interpreter(path) != "":
		return "we may not execute it or its interpreter" + interpreter(path) + ", or a file system is mounted noexec"
	}
	return "we may not execute it, or its file system is mounted noexec"
}

// defaultPath is searched where PATH is not set (execvp(3), confstr(_CS_PATH) of glibc).
const defaultPath = "/bin:/usr/bin"

// LookPath finds the program name as execvp(3) does: a name with a slash is taken as it is, any other is searched in
// the directories of pathEnv, where an empty one means the current directory. An empty pathEnv counts as not set, which
// means /bin:/usr/bin.
//
// Its error is a *StartError: 127 when there is no such program, 126 when there are only ones that may not be executed.
// That a program was found does not promise that the kernel knows its format: Start tells.
func LookPath(name, pathEnv string) (string, error) {
	switch {
	case name == "":
		return "", &StartError{Path: name, Err: errors.New("the name of the program is empty"), code: codeNotFound}
	case strings.Contains(name, "/"):
		if err := executable(name); err != nil {
			return "", startError(name, err)
		}
		return name, nil
	case pathEnv == "":
		pathEnv = defaultPath
	}
	var denied *StartError
	for _, dir := range strings.Split(pathEnv, ":") {
		if dir == "" {
			dir = "."
		}
		path := dir + "/" + name
		switch err := executable(path); {
		case err == nil:
			return path, nil
		case errors.Is(err, syscall.EISDIR): // a directory named like the program is no reason to stop or to complain
		case denied == nil && errors.Is(err, syscall.EACCES):
			denied = startError(path, err)
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &StartError{Path: name, Err: fmt.Errorf("not found in PATH %q: %w", pathEnv, syscall.ENOENT), code: codeNotFound}
}

// executable reports whether path is a file that we may execute.
func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		var pathErr *fs.PathError
		errors.As(err, &pathErr)
		return pathErr.Err
	}
	if info.IsDir() {
		return syscall.EISDIR
	}
	const executeOK = 1
	return syscall.Access(path, executeOK)
}
