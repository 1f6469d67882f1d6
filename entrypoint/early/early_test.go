package early

import (
	"testing"

	"garm-entrypoint/supervisor/threads"
)

func TestSpareFor(t *testing.T) {
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, threads.Busy},
		{[]string{"garm-entrypoint"}, threads.Busy},
		{[]string{"garm-entrypoint", ""}, threads.Busy},
		{[]string{"garm-entrypoint", "run", "--init=false"}, threads.Busy},
		{[]string{"garm-entrypoint", "garm", "-version"}, threads.Busy},
		{[]string{"garm-entrypoint", "--config", "x"}, threads.Busy},
		{[]string{"garm-entrypoint", "exec", "--", "watch"}, threads.Idle},
		{[]string{"garm-entrypoint", "sh"}, threads.Idle},
		{[]string{"garm-entrypoint", "healthcheck", "--live"}, 0},
		{[]string{"garm-entrypoint", "init", "--spawn"}, 0},
		{[]string{"garm-entrypoint", "version"}, 0},
	} {
		if got := spareFor(c.args); got != c.want {
			t.Errorf("%q: %d", c.args, got)
		}
	}
}
