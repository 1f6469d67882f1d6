package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	type flags = map[string]string
	for line, want := range map[string]invocation{
		// The main job, and what goes to garm.
		"":                              {command: cmdRun},
		"run":                           {command: cmdRun},
		"run --":                        {command: cmdRun},
		"run -- -x y":                   {command: cmdRun, args: []string{"-x", "y"}},
		"run --username u -- -x":        {command: cmdRun, flags: flags{"username": "u"}, args: []string{"-x"}},
		"run -username=u":               {command: cmdRun, flags: flags{"username": "u"}},
		"run --init=false":              {command: cmdRun, flags: flags{"init": "false"}},
		"run --init":                    {command: cmdRun, flags: flags{"init": "true"}},
		"run --username a --username b": {command: cmdRun, flags: flags{"username": "b"}},
		"run -- garm":                   {command: cmdRun, args: []string{"garm"}},
		"run -- a -- b":                 {command: cmdRun, args: []string{"a", "--", "b"}},
		"garm":                          {command: cmdRun},
		"garm -x y":                     {command: cmdRun, args: []string{"-x", "y"}},
		"-x y":                          {command: cmdRun, args: []string{"-x", "y"}},
		"-- -x":                         {command: cmdRun, args: []string{"-x"}},
		// The config is garm's and ours.
		"--config a":                  {command: cmdRun, flags: flags{"config": "a"}},
		"-config a":                   {command: cmdRun, flags: flags{"config": "a"}},
		"-config=a=b":                 {command: cmdRun, flags: flags{"config": "a=b"}},
		"--config=a -x":               {command: cmdRun, flags: flags{"config": "a"}, args: []string{"-x"}},
		"-x --config a y":             {command: cmdRun, flags: flags{"config": "a"}, args: []string{"-x", "y"}},
		"garm -config a":              {command: cmdRun, flags: flags{"config": "a"}},
		"run -- --config a":           {command: cmdRun, flags: flags{"config": "a"}},
		"run --config a -- -config a": {command: cmdRun, flags: flags{"config": "a"}},
		"--config a -config b":        {command: cmdRun, flags: flags{"config": "b"}}, // as garm reads it
		"--configx a":                 {command: cmdRun, args: []string{"--configx", "a"}},
		"garm config a":               {command: cmdRun, args: []string{"config", "a"}, subcommand: true},
		// What only prints.
		"-version":      {command: cmdRun, args: []string{"-version"}, printOnly: true},
		"--version":     {command: cmdRun, args: []string{"--version"}, printOnly: true},
		"garm -h":       {command: cmdRun, args: []string{"-h"}, printOnly: true},
		"run -- --help": {command: cmdRun, args: []string{"--help"}, printOnly: true},
		"garm version":  {command: cmdRun, args: []string{"version"}, subcommand: true},
		// Subcommands of newer garms, which take their arguments as they are.
		"garm admin list":            {command: cmdRun, args: []string{"admin", "list"}, subcommand: true},
		"garm admin list --config a": {command: cmdRun, args: []string{"admin", "list", "--config", "a"}, subcommand: true},
		"garm completion -h":         {command: cmdRun, args: []string{"completion", "-h"}, subcommand: true},
		"garm --config a admin list": {command: cmdRun, flags: flags{"config": "a"}, args: []string{"admin", "list"}},
		"version":                    {command: cmdVersion},
		"-h":                         {command: cmdHelp},
		"--help":                     {command: cmdHelp},
		"help":                       {command: cmdHelp},
		"help run":                   {command: cmdHelp, args: []string{"run"}},
		"run -h":                     {command: cmdHelp, args: []string{"run"}},
		"init --help":                {command: cmdHelp, args: []string{"init"}},
		// Our other commands.
		"init": {command: cmdInit, output: "text"},
		"init --server http://g --dry-run --output json": {command: cmdInit, flags: flags{"server": "http://g"}, output: "json", dryRun: true},
		"init --spawn --umask 0027":                      {command: cmdInit, flags: flags{"umask": "0027"}, output: "text", spawn: true},
		"init --output=text":                             {command: cmdInit, output: "text"},
		"watch --watch-interval 1s":                      {command: cmdWatch, flags: flags{"watch-interval": "1s"}},
		"healthcheck":                                    {command: cmdHealthcheck},
		"healthcheck --live --server http://g":           {command: cmdHealthcheck, live: true, server: "http://g"},
		"healthcheck --config a":                         {command: cmdHealthcheck, flags: flags{"config": "a"}},
		"check --umask 0027":                             {command: cmdCheck, flags: flags{"umask": "0027"}},
		// Any other word is a program.
		"sh -c x":            {command: cmdExec, word: true, args: []string{"sh", "-c", "x"}},
		"garm-cli --version": {command: cmdExec, word: true, args: []string{"garm-cli", "--version"}},
		"/bin/garm -x":       {command: cmdExec, word: true, args: []string{"/bin/garm", "-x"}},
		"Run":                {command: cmdExec, word: true, args: []string{"Run"}},
		"exec sh -c x":       {command: cmdExec, args: []string{"sh", "-c", "x"}},
		"exec -- version":    {command: cmdExec, args: []string{"version"}},
		"exec -- -- x":       {command: cmdExec, args: []string{"--", "x"}},
		"exec sh -- x":       {command: cmdExec, args: []string{"sh", "--", "x"}},
	} {
		got, err := parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%q: %v", line, err)
			continue
		}
		// An empty map and none mean the same.
		if len(got.flags) == 0 {
			got.flags = nil
		}
		if len(got.args) == 0 {
			got.args = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

// An argument is never split or joined.
func TestParseKeepsArguments(t *testing.T) {
	t.Parallel()
	args := []string{"sh", "-c", "echo  'a b'", "", "\n"}
	if got, err := parse(args); err != nil || !reflect.DeepEqual(got.args, args) {
		t.Errorf("%q became %q (%v)", args, got.args, err)
	}
}

func TestParseFaults(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"exec":                           "exec needs a program",
		"exec --":                        "exec needs a program",
		"run surplus":                    `unexpected argument "surplus"; arguments for garm go after --`,
		"init surplus":                   `init: unexpected argument "surplus"`,
		"init -- -x":                     "only run takes arguments for garm",
		"healthcheck -- -x":              "only run takes arguments for garm",
		"run --no-such-flag":             "no-such-flag",
		"run --password x":               "password", // argv is public
		"run -version":                   "version",
		"run --server http://g":          "server", // not of this command
		"run --dry-run":                  "dry-run",
		"run --live":                     "live",
		"init --umask 0077":              "umask",
		"init --stop-timeout 1s":         "stop-timeout",
		"healthcheck --username u":       "username",
		"run --username":                 "needs an argument",
		"init --spawn --dry-run":         "--spawn goes with neither",
		"init --spawn --output json":     "--spawn goes with neither",
		"init --spawn --server http://g": "--server means nothing with --spawn",
		"init --output yaml":             `--output is text or json, not "yaml"`,
		"init --dry-run=perhaps":         "dry-run",
		"--base-url http://g":            "goes after the word run: garm-entrypoint run --base-url",
		"-umask=0":                       "goes after the word run",
		"--config":                       "--config needs the path",
		"--config=":                      "--config needs the path",
		"garm -config":                   "--config needs the path",
		"run --config a -- --config b":   "given twice: a and b",
	} {
		_, err := parse(strings.Fields(line))
		var usage *usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want wrong usage with %q", line, err, want)
		}
	}
}

func TestFaultsOf(t *testing.T) {
	t.Parallel()
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	got := faultsOf(errors.Join(errors.Join(a, b), nil, errors.Join(errors.Join(c))))
	if !reflect.DeepEqual(got, []error{a, b, c}) {
		t.Errorf("%v, want a, b and c", got)
	}
	if got := faultsOf(a); !reflect.DeepEqual(got, []error{a}) {
		t.Errorf("%v, want a", got)
	}
}
