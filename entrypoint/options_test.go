package main

import (
	"regexp"
	"strings"
	"testing"
)

// The table drives the command line, the variables, help and docs/configuration.md: so
// each row must be whole, and no two may collide.
func TestOptionsTable(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^GARM_[A-Z]+(_[A-Z]+)*$`)
	seen := map[string]bool{}
	for _, o := range options {
		for _, n := range []string{o.variable, o.variable + "_FILE", o.flag()} {
			if seen[n] {
				t.Errorf("%s: the name %s is taken", o.variable, n)
			}
			seen[n] = true
		}
		if !name.MatchString(o.variable) {
			t.Errorf("%s is no name for a variable", o.variable)
		}
		if o.help == "" || o.store == nil || o.def == "" && o.shown == "" {
			t.Errorf("%s: help, store or default is missing", o.variable)
		}
		if o.def != "" {
			if err := o.kind.check(o.def); err != nil {
				t.Errorf("%s: the default: %v", o.variable, err)
			}
		}
		if o.file && o.kind != text {
			t.Errorf("%s: only values have the form X_FILE, not paths and switches", o.variable)
		}
		if o.use == "" {
			t.Errorf("%s belongs to no command", o.variable)
		}
	}
}

// A secret has no flag, since everybody reads argv; nothing else lacks one.
func TestOptionsFlags(t *testing.T) {
	t.Parallel()
	for _, command := range []string{cmdRun, cmdInit, cmdWatch, cmdHealthcheck, cmdCheck} {
		set := flagSet(&invocation{command: command, flags: map[string]string{}})
		for _, o := range options {
			want := o.appliesTo(command) && !o.secret
			// init --spawn is a kind of run; TestParseFaults has what goes together.
			want = want || command == cmdInit && o.appliesTo(cmdRun) && !o.secret
			// --server is the health check's own flag: it has no variable there.
			if command == cmdHealthcheck && o.variable == "GARM_SERVER" {
				want = true
			}
			if got := set.Lookup(o.flag()) != nil; got != want {
				t.Errorf("%s: flag --%s exists: %t, want %t", command, o.flag(), got, want)
			}
		}
	}
}

func TestOptionsApply(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		cmdHealthcheck: "GARM_CONFIG GARM_BASE_URL GARM_METADATA_URL GARM_CALLBACK_URL",
		cmdExec:        "",
		cmdVersion:     "",
		cmdHelp:        "",
	} {
		var got []string
		for _, o := range options {
			if o.appliesTo(command) {
				got = append(got, o.variable)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s takes %v, want %q", command, got, want)
		}
	}
	// A pod that shares the operator's secret has GARM_SERVER set to its own
	// Service, which has no endpoint until the pod is healthy.
	for _, o := range options {
		if o.variable == "GARM_SERVER" && (o.appliesTo(cmdRun) || o.appliesTo(cmdCheck) || o.appliesTo(cmdHealthcheck)) {
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
