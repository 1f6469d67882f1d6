package initializer

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// minPause keeps the time between a listener's first moment and our first request far below what garm needs for one
	// password hash (60 ms).
	minPause = 2 * time.Millisecond
	// maxPause is the longest pause before a server that is not there yet.
	maxPause = time.Second
	// minAnswered and maxAnswered bound the pauses before a server that answers, but not what it should: each try
	// writes a line in its log.
	minAnswered = 100 * time.Millisecond
	maxAnswered = 5 * time.Second
)

// backoff gives the pauses between tries.
type backoff struct {
	start    time.Time
	answered time.Duration
}

// next returns how long to wait. Before a server that does not answer it is a fiftieth of the time waited so far: what
// we add to a start is 2 % at most.
func (b *backoff) next(answered bool) time.Duration {
	if !answered {
		b.answered = 0
		return jitter(min(max(time.Since(b.start)/50, minPause), maxPause))
	}
	b.answered = min(max(2*b.answered, minAnswered), maxAnswered)
	return jitter(b.answered)
}

// jitter spreads many clients of one server over a tenth to each side.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}

// sleep waits for d or the end of ctx, and reports whether d passed.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
