package testgarm

import (
	"testing"
	"time"
)

const pollStep = 2 * time.Millisecond

// Eventually polls until the condition holds. The test fails when that takes longer than timeout; what says what was
// waited for.
func Eventually(t testing.TB, timeout time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(pollStep) {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting for %s after %v", what, timeout)
		}
	}
}
