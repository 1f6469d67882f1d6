package supervisor

import "time"

// awakeInterval is how often the loop looks at the clock while a deadline is running, and how late that may be on a
// busy machine.
const awakeInterval = 250 * time.Millisecond

// skipPause moves the deadlines when we did not run for a while, because a time in which we all stood still gives
// nobody a chance to end: after SIGSTOP or a suspend by the shell above us, or in the freezer of `docker pause`, which
// sends no signal and does not stop the monotonic clock. All that tells is that we wake long after we should have,
// wherefore arm lets us wake often; up to awakeInterval of the pause is missed.
func (l *loop) skipPause() {
	pause := time.Since(l.awakeBy)
	if l.awakeBy.IsZero() || pause < awakeInterval {
		return
	}
	deadlines := []*time.Time{&l.ending.killAt, &l.ending.giveUp}
	if c := l.child; c != nil {
		deadlines = append(deadlines, &c.holdUntil, &c.killAt)
	}
	for _, t := range deadlines {
		if !t.IsZero() {
			*t = t.Add(pause)
		}
	}
}
