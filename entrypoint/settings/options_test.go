package settings

import (
	"regexp"
	"strings"
	"testing"
)

// The table drives the command line, the variables, help and docs/configuration.md: so each row must be whole, and no
// two may collide.
func TestOptionsTable(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^GARM_[A-Z]+(_[A-Z]+)*$`)
	seen := map[string]bool{}
	for _, o := range Options {
		for _, n := range []string{o.Variable, o.Variable + "_FILE", o.Flag()} {
			if seen[n] {
				t.Errorf("%s: the name %s is taken", o.Variable, n)
			}
			seen[n] = true
		}
		if !name.MatchString(o.Variable) {
			t.Errorf("%s is no name for a variable", o.Variable)
		}
		if o.Help == "" || o.store == nil || o.Default == "" && o.Shown == "" {
			t.Errorf("%s: help, store or default is missing", o.Variable)
		}
		if o.Default != "" {
			if err := o.kind.check(o.Default); err != nil {
				t.Errorf("%s: the default: %v", o.Variable, err)
			}
		}
		if o.File && o.kind != text {
			t.Errorf("%s: only values have the form X_FILE, not paths and switches", o.Variable)
		}
		if o.Use == "" {
			t.Errorf("%s belongs to no command", o.Variable)
		}
	}
}

func TestOptionsApply(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		CmdHealthcheck: "GARM_CONFIG GARM_BASE_URL GARM_METADATA_URL GARM_CALLBACK_URL",
		CmdExec:        "",
		CmdVersion:     "",
		CmdHelp:        "",
	} {
		var got []string
		for _, o := range Options {
			if o.AppliesTo(command) {
				got = append(got, o.Variable)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s takes %v, want %q", command, got, want)
		}
	}
	// A pod that shares the operator's secret has GARM_SERVER set to its own Service, which has no endpoint until the
	// pod is healthy.
	for _, o := range Options {
		if o.Variable == "GARM_SERVER" && (o.AppliesTo(CmdRun) || o.AppliesTo(CmdCheck) || o.AppliesTo(CmdHealthcheck)) {
			t.Error("GARM_SERVER must mean nothing to run, check and healthcheck")
		}
	}
}

func TestKindCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind kind
		good []string
		bad  []string
	}{
		{text, []string{"", "a", "a b\n", "1s"}, nil},
		{path, []string{"a", "/a b"}, []string{"a\x00b"}},
		{toggle, []string{"true", "false", "1", "0", "TRUE", "f"}, []string{"yes", "on", "perhaps", " true"}},
		{span, []string{"0", "0s", "1.5h", "1m30s", "200ms"}, []string{"30", "-1s", "5 m", "1d", "soon"}},
		{octal, []string{"0077", "77", "0", "0777"}, []string{"0o77", "8", "1000", "-1", "0x1f", "u=rwx", "99999999999"}},
	} {
		for _, v := range c.good {
			if err := c.kind.check(v); err != nil {
				t.Errorf("kind %d: %q: %v", c.kind, v, err)
			}
		}
		for _, v := range c.bad {
			if c.kind.check(v) == nil {
				t.Errorf("kind %d: %q is accepted", c.kind, v)
			}
		}
	}
}
