package main

import (
	"testing"

	"garm-entrypoint/entrypoint/settings"
)

// A secret has no flag, since everybody reads argv; nothing else lacks one.
func TestOptionsFlags(t *testing.T) {
	t.Parallel()
	for _, command := range []string{cmdRun, cmdInit, cmdWatch, cmdHealthcheck, cmdCheck, cmdPlan, cmdApply, cmdExport} {
		set := flagSet(&invocation{command: command, flags: map[string]string{}})
		for _, o := range settings.Options {
			want := o.AppliesTo(command) && !o.Secret
			// init --spawn is a kind of run; TestParseFaults has what goes together.
			want = want || command == cmdInit && o.AppliesTo(cmdRun) && !o.Secret
			// --server is the health check's own flag: it has no variable there.
			if command == cmdHealthcheck && o.Variable == "GARM_SERVER" {
				want = true
			}
			if got := set.Lookup(o.Flag()) != nil; got != want {
				t.Errorf("%s: flag --%s exists: %t, want %t", command, o.Flag(), got, want)
			}
		}
	}
}
