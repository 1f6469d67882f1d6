package sdnotify

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
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

// A manager that is gone, does not read, or has an address of another kind costs an error, and no more time than was
// set for it.
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
	if took := time.Since(begin); took > 3*sendTimeout {
		t.Errorf("took %v", took)
	}
}

// A manager that reads late gets the message all the same.
func TestSendWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fill, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fill)
	for err == nil {
		err = unix.Sendto(fill, []byte("x"), 0, &unix.SockaddrUnix{Name: path})
	}
	sent := make(chan error, 1)
	go func() { sent <- Send(path, Ready) }()
	buffer := make([]byte, 100)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatal(err)
		}
		if string(buffer[:n]) == Ready {
			break
		}
		select {
		case err := <-sent:
			if err != nil {
				t.Fatal(err)
			}
			sent <- nil
		default:
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

func TestStatusIsShort(t *testing.T) {
	t.Parallel()
	if got := Status(strings.Repeat("ä", 4000)); len(got) > 1100 || !utf8.ValidString(got) {
		t.Errorf("%d bytes", len(got))
	}
}
