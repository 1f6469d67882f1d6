package infile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	if err := os.WriteFile(full, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		fifo: "it is not a regular file", "/dev/zero": "it is not a regular file", dir: "is a directory", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := Read(path, 8); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q and no path", path, err, want)
		}
	}
	if data, err := Read(full, 8); string(data) != "12345678" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := Read(full, 7); err == nil || !strings.Contains(err.Error(), "longer than 7 bytes") {
		t.Errorf("%v", err)
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n", " a ": " a ", "": "", "\n": ""} {
		path := filepath.Join(t.TempDir(), "value")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Value(path); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", content, got, err)
		}
	}
}
