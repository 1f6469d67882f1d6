package durable_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"garm-entrypoint/internal/durable"
	"garm-entrypoint/internal/testgarm"
)

func TestExplainPermission(t *testing.T) {
	dir := testgarm.PublicDir(t)
	locked, closed, file := filepath.Join(dir, "locked"), filepath.Join(dir, "closed"), filepath.Join(dir, "file")
	must(t, os.Mkdir(locked, 0o555))
	must(t, os.Mkdir(filepath.Join(locked, "in"), 0o555))
	must(t, os.Mkdir(closed, 0o700))
	must(t, os.Mkdir(filepath.Join(closed, "in"), 0o777))
	must(t, os.WriteFile(file, nil, 0o200))
	must(t, os.Chmod(closed, 0o600))
	owner := fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())

	testgarm.AsUser(t, func() {
		we := fmt.Sprintf("we run as %d:%d", os.Geteuid(), os.Getegid())
		in := "permission denied: directory " + locked + " is owned by " + owner + " (mode 0555) and " + we + ": make it writable for that user"
		_, unreadable := os.ReadFile(file)
		for _, c := range []struct {
			name, want string
			err        error
		}{
			{"create", "cannot write " + locked + "/secret: " + in, durable.Create(locked+"/secret", []byte("x"))},
			{"remove", "cannot remove " + locked + "/in: " + in, durable.Remove(locked + "/in")},
			{"writable", "cannot write in directory " + locked + ": " + in, durable.Writable(locked)},
			{"ancestor", "permission denied: directory " + closed + " is owned by " + owner + " (mode 0600) and " + we + ": make it enterable for that user",
				durable.Create(closed+"/in/secret", nil)},
			{"read", "permission denied: file " + file + " is owned by " + owner + " (mode 0200) and " + we + ": make it readable for that user",
				durable.Explain(unreadable, file)},
		} {
			if c.err == nil || !strings.Contains(c.err.Error(), c.want) || !errors.Is(c.err, os.ErrPermission) {
				t.Errorf("%s:\n got %v\nwant %s", c.name, c.err, c.want)
			}
		}
	})
}

func TestExplainOther(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, c := range []struct {
		name string
		got  error
		want string
	}{
		{"nil", durable.Explain(nil, dir), "<nil>"},
		{"not the system's", durable.Explain(io.EOF, dir), "EOF"},
		{"missing directories", durable.Create(dir+"/a/b/c", nil),
			"cannot write " + dir + "/a/b/c: no such file or directory: there is no directory " + dir + "/a: create it, or mount a volume there"},
		{"exists", durable.Create(dir+"/file", nil),
			"cannot write " + dir + "/file: file exists: it is never overwritten: remove it by hand if it is not needed"},
		{"file as directory", durable.Create(dir+"/file/x", nil), "cannot write " + dir + "/file/x: not a directory"},
	} {
		if fmt.Sprint(c.got) != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, c.got, c.want)
		}
	}
}

func TestFullAndReadOnly(t *testing.T) {
	dir := t.TempDir()
	inMountNamespace(t, func() {
		mount := func(flags uintptr, size string) {
			if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "size="+size); err != nil {
				t.Error(err)
			}
		}
		mount(0, "4096")
		must(t, os.WriteFile(dir+"/filler", make([]byte, 4096), 0o600))
		for _, err := range []error{durable.Create(dir+"/secret", []byte("x")), durable.Writable(dir)} {
			if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), "free space or inodes in "+dir) {
				t.Errorf("full: got %v", err)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("full: left %v, %v", entries, err)
		}
		mount(unix.MS_RDONLY, "4096")
		if err := durable.Writable(dir); !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "mount "+dir+" writable") {
			t.Errorf("read-only: got %v", err)
		}
	})
}

func inMountNamespace(t *testing.T, fn func()) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	testgarm.OnThread(func() {
		if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
			t.Logf("skipped: cannot make a mount namespace: %v", err)
			return
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Error(err)
			return
		}
		fn()
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
