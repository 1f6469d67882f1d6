package early

import "testing"

func TestSupervises(t *testing.T) {
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, true},
		{[]string{"garm-entrypoint"}, true},
		{[]string{"garm-entrypoint", "run", "--init=false"}, true},
		{[]string{"garm-entrypoint", "exec", "--", "watch"}, true},
		{[]string{"garm-entrypoint", "sh"}, true},
		{[]string{"garm-entrypoint", "--config", "x"}, true},
		{[]string{"garm-entrypoint", "healthcheck", "--live"}, false},
		{[]string{"garm-entrypoint", "version"}, false},
	} {
		if got := supervises(c.args); got != c.want {
			t.Errorf("%q: %t", c.args, got)
		}
	}
}
