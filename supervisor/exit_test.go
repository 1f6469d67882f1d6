package supervisor

import (
	"strconv"
	"syscall"
	"testing"
)

// The child's exit status is ours.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, test := range []struct {
			script string
			want   int
		}{
			{"exit 0", 0}, {"exit 1", 1}, {"exit 255", 255},
			{"kill -KILL $$", 128 + 9}, {"kill -SEGV $$", 128 + 11}, {"kill -TERM $$", 128 + 15},
			{"kill -" + strconv.Itoa(int(syscall.SIGSYS)) + " $$", 128 + 31},
		} {
			m.start(t, plan{Args: []string{"sh", "-c", test.script}}).expectCode(test.want)
		}
		m.start(t, plan{Args: []string{"/nonexistent"}}).expectCode(127)
		m.start(t, plan{Args: []string{"/"}}).expectCode(126)
	})
}
