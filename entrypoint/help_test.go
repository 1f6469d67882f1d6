package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/initializer"
)

// update rewrites the golden files and the tables of the pages in docs:
//
//	go test ./entrypoint -run 'Golden|Tables' -update
var update = flag.Bool("update", false, "rewrite golden files and the pages' tables")

// golden compares text with a file in testdata, or writes it there.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for n := range max(len(g), len(w)) {
		if n >= len(g) || n >= len(w) || g[n] != w[n] {
			t.Errorf("%s line %d differs, if that is meant run with -update:\n got %q\nwant %q", path, n+1, line(g, n), line(w, n))
			return
		}
	}
}

func line(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return "(the end)"
}

// helpOf is what a command line prints on stdout, with exit code 0.
func helpOf(t *testing.T, args ...string) string {
	t.Helper()
	var stdout bytes.Buffer
	a := app{stdout: &stdout, stderr: io.Discard}
	if code := a.run(args); code != exitOK {
		t.Errorf("%v: exit code %d", args, code)
	}
	return stdout.String()
}

func TestGoldenHelp(t *testing.T) {
	golden(t, "help", helpOf(t, "help"))
	for _, command := range []string{cmdRun, cmdInit, cmdWatch, cmdHealthcheck, cmdCheck, cmdPlan, cmdApply, cmdExport, cmdExec} {
		golden(t, "help-"+command, helpOf(t, "help", command))
	}
}

// However help is asked for, it is the same.
func TestHelpIsOne(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"--help"}} {
		if helpOf(t, args...) != helpOf(t, "help") {
			t.Errorf("%v is not help", args)
		}
	}
	for _, command := range []string{cmdRun, cmdInit, cmdWatch, cmdHealthcheck, cmdCheck, cmdPlan, cmdApply, cmdExport} {
		for _, dash := range []string{"-h", "--help"} {
			if helpOf(t, command, dash) != helpOf(t, "help", command) {
				t.Errorf("%s %s is not help %s", command, dash, command)
			}
		}
	}
	a := app{stdout: io.Discard, stderr: io.Discard}
	if code := a.run([]string{"help", "no-such-command"}); code != exitUsage {
		t.Errorf("help on nothing: exit code %d, want %d", code, exitUsage)
	}
}

// A terminal has 80 columns; only a term that has no blank may be longer.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for _, l := range strings.Split(helpOf(t, "help"), "\n") {
		if len(l) > 80 && strings.HasPrefix(l, "      ") {
			t.Errorf("%d columns: %q", len(l), l)
		}
	}
}

// What init prints for people.
func TestGoldenInit(t *testing.T) {
	changed := []initializer.Change{{Field: "metadata URL", From: "", To: "https://garm.example.com/api/v1/metadata"}}
	var text strings.Builder
	for _, c := range []struct {
		title  string
		result initializer.Result
	}{
		{"new", initializer.Result{ControllerID: "4c749bc0-b211-4add-b7bb-7b339ffd0d2c", ServerVersion: "v0.2.1", AdminCreated: true, Changed: changed}},
		{"again", initializer.Result{ControllerID: "4c749bc0-b211-4add-b7bb-7b339ffd0d2c", ServerVersion: "v0.2.1"}},
		{"old garm, no URLs", initializer.Result{ControllerID: "4c749bc0-b211-4add-b7bb-7b339ffd0d2c", AdminCreated: true, URLsMissing: true,
			Unsupported: []string{"agent URL", "CA bundle"}}},
		{"dry run, new", initializer.Result{DryRun: true, AdminCreated: true, Changed: changed}},
		{"dry run, again", initializer.Result{DryRun: true, ControllerID: "4c749bc0-b211-4add-b7bb-7b339ffd0d2c", ServerVersion: "v0.2.1", Changed: changed}},
	} {
		text.WriteString("# " + c.title + "\n" + strings.Join(describeResult("admin", c.result), "\n") + "\n")
	}
	golden(t, "init", text.String())
}

// The contract's exit codes for what the initialiser reports.
func TestExitCodeOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"none":             {nil, 0},
		"weak password":    {&initializer.RefusedError{Configuration: true}, 78},
		"refused":          {&initializer.RefusedError{}, 70},
		"takeover":         {&initializer.TakeoverError{}, 77},
		"mismatch of init": {&initializer.MismatchError{}, 77},
		"unreachable":      {&initializer.UnreachableError{}, 69},
		"wrapped":          {errors.Join(errors.New("x"), &initializer.TakeoverError{}), 77},
	} {
		if got := exitCodeOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
