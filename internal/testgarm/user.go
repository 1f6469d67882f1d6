package testgarm

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// UserID is the user and group that AsUser becomes when the tests run as root.
const UserID = 65532

// AsUser runs fn without root's rights: as UserID, without other groups, when the test runs as root. Only the calls
// that fn makes itself are affected, not those of goroutines it starts.
func AsUser(t testing.TB, fn func()) {
	t.Helper()
	OnThread(func() {
		if os.Geteuid() == 0 {
			for _, call := range [][4]uintptr{
				{unix.SYS_SETGROUPS},
				{unix.SYS_SETRESGID, UserID, UserID, UserID},
				{unix.SYS_SETRESUID, UserID, UserID, UserID},
			} { // raw, for this thread only
				if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
					t.Errorf("cannot become another user: %v", errno)
					return
				}
			}
		}
		fn()
	})
}

// OnThread runs fn on a thread of its own that is given up afterwards, whatever fn did to it.
func OnThread(fn func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock
		fn()
	}()
	<-done
}

// PublicDir is a temporary directory that every user can enter, unlike that of t.TempDir.
func PublicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "garm-entrypoint-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
