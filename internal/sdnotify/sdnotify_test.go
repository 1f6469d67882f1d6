package sdnotify

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSend(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{
		"path":     filepath.Join(t.TempDir(), "notify"),
		"abstract": "@garm-entrypoint-test-" + strings.ReplaceAll(t.TempDir(), "/", "-"),
	} {
		listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket})
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := Send(socket, Ready, Status("two\nlines"), ExtendTimeout(1500*time.Millisecond)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := listener.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 1024)
		n, err := listener.Read(data)
		if want := "READY=1\nSTATUS=two lines\nEXTEND_TIMEOUT_USEC=1500000"; err != nil || string(data[:n]) != want {
			t.Errorf("%s: got %q, %v, want %q", name, data[:n], err, want)
		}
	}
}

// A manager that is gone, does not read, or has an address of another kind
// costs an error, and no time.
func TestSendFails(t *testing.T) {
	t.Parallel()
	full := filepath.Join(t.TempDir(), "full")
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: full})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	begin := time.Now()
	for n := 0; err == nil; n++ {
		if err = Send(full, Ready); n > 100_000 {
			t.Fatal("the queue of a socket that nobody reads has no end")
		}
	}
	for _, socket := range []string{"", "relative", "vsock:2:1", filepath.Join(t.TempDir(), "nobody"), "/" + strings.Repeat("x", 200)} {
		if err := Send(socket, Ready); err == nil {
			t.Errorf("%q: no error", socket)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
