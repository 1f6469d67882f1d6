package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// samples of one figure.
type samples []time.Duration

// quantile is the nearest rank; q is 0 to 1. No samples: 0.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[max(rank-1, 0)]
}

func (s samples) median() time.Duration { return s.quantile(0.5) }
func (s samples) p99() time.Duration    { return s.quantile(0.99) }
func (s samples) worst() time.Duration  { return s.quantile(1) }

// text is the median and, behind the slash, the 99th percentile: the worst, where there are fewer than 100 samples.
func (s samples) text() string {
	if len(s) == 0 {
		return "-"
	}
	return ms(s.median()) + " / " + ms(s.p99())
}

// ms formats d in milliseconds with three digits.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

func ratio(a, b time.Duration) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}
