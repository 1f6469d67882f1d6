package supervisor

import (
	"strconv"
	"syscall"
	"testing"
)

// Every signal that a Go program can catch reaches the child, once.
func TestForwardsEverySignal(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, terminal := range []bool{false, true} {
			s := m.start(t, plan{Role: "printer", Terminal: terminal})
			s.expect("ready")
			for _, sig := range forwardable() {
				if sig == syscall.SIGTERM || isJobControlStop(sig) {
					continue
				}
				s.signal(sig)
				s.expect(strconv.Itoa(int(sig)))
			}
			s.signal(syscall.SIGTERM)
			s.expect("15")
			s.expectCode(0)
		}
	})
}
