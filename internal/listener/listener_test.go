package listener

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
)

func TestHeldBy(t *testing.T) {
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	for _, bind := range []string{"127.0.0.1:0", "127.0.0.9:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", bind)
		if err != nil {
			t.Logf("%s cannot be had here: %v", bind, err)
			continue
		}
		defer l.Close()
		address := netip.MustParseAddrPort(l.Addr().String())
		dialled := []netip.Addr{address.Addr()}
		if address.Addr().IsUnspecified() {
			dialled = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
		}
		for _, ip := range dialled {
			to := netip.AddrPortFrom(ip, address.Port())
			if err := HeldBy(os.Getpid(), to); err != nil {
				t.Errorf("%s, dialled at %s: %v, though it is ours", bind, to, err)
			}
			// Our child does not have it; we, above our child, do.
			if err := HeldBy(child.Process.Pid, to); !errors.Is(err, ErrStranger) {
				t.Errorf("%s, dialled at %s: %v, want a stranger", bind, to, err)
			}
		}
	}
	if err := HeldBy(os.Getpid(), netip.MustParseAddrPort("127.0.0.1:1")); !errors.Is(err, ErrNobody) {
		t.Errorf("%v, want nobody", err)
	}
	if err := HeldBy(os.Getpid(), netip.MustParseAddrPort("192.0.2.1:9997")); !errors.Is(err, ErrNobody) {
		t.Errorf("%v, want nobody: it is an address of another machine", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0100007F:270D":                         "127.0.0.1:9997",
		"00000000:0050":                         "0.0.0.0:80",
		"00000000000000000000000001000000:270D": "[::1]:9997",
		"0000000000000000FFFF00000100007F:270D": "127.0.0.1:9997",
		"B80D0120000000000000000001000000:0001": "[2001:db8::1]:1",
	} {
		if got, err := parse(text); err != nil || got.String() != want {
			t.Errorf("%s: %v %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x:1", "0100007F", "0100007F:xyz", "01:1"} {
		if got, err := parse(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
