package supervisor

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// syncBuffer collects the stderr of a process that may still be running.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// signalsOf are the signals that a supervisor promises to forward.
func forwardable() (sigs []syscall.Signal) {
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF, 32, 33, 34:
		default:
			sigs = append(sigs, sig)
		}
	}
	return sigs
}

func init() {
	// printer prints "ready" and then every signal it gets, until SIGTERM.
	roles["printer"] = func() {
		got := make(chan os.Signal, 1000)
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if sig != syscall.SIGURG { // of the child's own runtime; the C child of another test looks for it
				signal.Notify(got, sig)
			}
		}
		fmt.Println("ready")
		for sig := range got {
			fmt.Println(int(sig.(syscall.Signal)))
			if sig == syscall.SIGTERM {
				return
			}
		}
	}
}
