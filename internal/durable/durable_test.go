package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	err := Create(path, []byte("second"))
	if !errors.Is(err, os.ErrExist) {
		t.Fatalf("second Create: got %v, want one that wraps os.ErrExist", err)
	}
	checkFile(t, path, "first")
	checkNames(t, dir, "secret")
}

func TestCreateLeavesDanglingLinkAlone(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("x")); !errors.Is(err, os.ErrExist) {
		t.Fatalf("got %v, want one that wraps os.ErrExist", err)
	}
	checkNames(t, dir, "secret")
}

func TestCreateIsWonByExactlyOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	var wins atomic.Int32
	var winner atomic.Value
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			data := fmt.Sprintf("writer %d", i)
			switch err := Create(path, []byte(data)); {
			case err == nil:
				wins.Add(1)
				winner.Store(data)
			case !errors.Is(err, os.ErrExist):
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d writers won, want 1", wins.Load())
	}
	checkFile(t, path, winner.Load().(string))
	checkNames(t, dir, "secret")
}

// The fallback for file systems that know no RENAME_NOREPLACE.
func TestLinkUnlink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	for i, want := range []error{nil, os.ErrExist} {
		tmp, err := writeTemp(path, fmt.Append(nil, i), true)
		if err != nil {
			t.Fatal(err)
		}
		if err := linkUnlink(tmp, path); !errors.Is(err, want) {
			t.Fatalf("writer %d: got %v, want %v", i, err, want)
		}
		_ = os.Remove(tmp)
	}
	checkFile(t, path, "0")
	checkNames(t, dir, "secret")
}

func TestCreateGivesItsModeWhateverTheUmask(t *testing.T) {
	old := unix.Umask(0o777) // process-wide: this test is not parallel, nor is any other here
	defer unix.Umask(old)
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	checkFile(t, path, "x")
}

func TestRemove(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mark")
	for range 2 { // the second finds nothing
		if err := Create(path, nil); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkNames(t, dir)
	if err := Remove(filepath.Join(dir, "no", "such")); err != nil {
		t.Fatalf("missing directory: %v", err)
	}
}

func TestRemoveStale(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "admin-password")
	keep := []string{".admin-password.tmp", ".other.tmp-1", "admin-password", "x.admin-password.tmp-1"}
	for _, name := range append([]string{".admin-password.tmp-1", ".admin-password.tmp-234"}, keep...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if tmp, err := writeTemp(path, nil, true); err != nil { // the name that Create really uses
		t.Fatal(tmp, err)
	}
	if err := RemoveStale(path); err != nil {
		t.Fatal(err)
	}
	checkNames(t, dir, keep...)
	if err := RemoveStale(filepath.Join(dir, "no", "such")); err != nil {
		t.Fatalf("missing directory: %v", err)
	}
}

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if _, err := writeTemp(filepath.Join(dir, probe), nil, true); err != nil { // a crashed probe
		t.Fatal(err)
	}
	if err := Writable(dir); err != nil {
		t.Fatal(err)
	}
	checkNames(t, dir)
}

func checkFile(t *testing.T, path, want string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || string(data) != want {
		t.Errorf("%s: got %q, %v; want %q", path, data, err, want)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%s: mode %v, %v; want 0600", path, info.Mode(), err)
	}
}

// checkNames wants exactly these names in dir, in order.
func checkNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}
