package mainthread

import (
	"os"
	"syscall"
	"testing"
)

// The main goroutine has the tests; what a test finds out about it, it finds out before.
var onMain, beside, after bool

func TestMain(m *testing.M) {
	Run(func() {
		beside = syscall.Gettid() == os.Getpid()
		done := make(chan struct{})
		Work() <- func() {
			onMain = syscall.Gettid() == os.Getpid()
			close(done)
		}
		<-done
	})
	after = Work() == nil
	os.Exit(m.Run())
}

func TestRun(t *testing.T) {
	if !onMain {
		t.Error("work is not done on the main thread")
	}
	if beside {
		t.Error("the main thread is busy with what was to run beside it")
	}
	if !after {
		t.Error("work is accepted when nobody does it")
	}
}
