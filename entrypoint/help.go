package main

import (
	"fmt"
	"io"
	"strings"

	"garm-entrypoint/entrypoint/settings"
)

// commandHelp is the table of commands that --help and docs/configuration.md show.
var commandHelp = []struct{ command, call, does string }{
	{cmdRun, "garm-entrypoint [run] [FLAGS] [-- GARM ARGS]", "supervises garm and initialises it: the main job"},
	{cmdRun, "garm-entrypoint -FLAG ...", "the same; the arguments go to garm, as in the upstream image"},
	{cmdRun, "garm-entrypoint garm ARGS", "the same as run -- ARGS"},
	{cmdRun, "garm-entrypoint garm WORD ARGS", "a subcommand of newer garms, such as admin list: supervised as it is, nothing is initialised or written"},
	{cmdInit, "garm-entrypoint init [FLAGS]", "one shot: initialises the server at GARM_SERVER, then exits; --dry-run says what it would do, --output json is for scripts"},
	{cmdInit, "garm-entrypoint init --spawn [FLAGS OF run]", "as an init container: starts garm itself on a loopback address, initialises it, stops it and exits 0"},
	{cmdWatch, "garm-entrypoint watch [FLAGS]", "keeps the server at GARM_SERVER initialised until it is signalled"},
	{cmdHealthcheck, "garm-entrypoint healthcheck [--live] [--server URL]", "exit 0 when the server is ready (--live: when its API answers), else 1 and why"},
	{cmdCheck, "garm-entrypoint check [FLAGS]", "validates the configuration, asks garm on a throw-away database, lists every fault; exit 0 or 78"},
	{cmdPlan, "garm-entrypoint plan [FLAGS] [PATH...]", "shows what apply would change on the server, one line a change; exit 0: nothing, 2: differences; --output json is for scripts"},
	{cmdApply, "garm-entrypoint apply [FLAGS] [PATH...]", "provisions the server once: 0 provisioned, 75 something is left to retry, 78 refused before anything was sent"},
	{cmdExport, "garm-entrypoint export [--from-config] [FLAGS]", "prints a running server as a provision file, secrets left out; --from-config prints config.toml's [[github]] instead"},
	{cmdExec, "garm-entrypoint exec -- CMD ARGS", "supervises CMD, initialises nothing"},
	{cmdExec, "garm-entrypoint CMD ARGS", "the same for any other word: docker run -it IMAGE sh"},
	{cmdVersion, "garm-entrypoint version", "prints the version"},
	{cmdHelp, "garm-entrypoint help [COMMAND]", "prints this, or what one command takes"},
}

// help prints the manual, or one command's part of it.
func (a *app) help(inv invocation) int {
	topic := ""
	if len(inv.args) > 0 {
		topic = inv.args[0]
		if !known(topic) {
			return a.fail(usagef("help: there is no command %q", topic))
		}
	}
	printHelp(a.stdout, topic)
	return exitOK
}

// known reports whether a command exists.
func known(command string) bool {
	for _, c := range commandHelp {
		if c.command == command {
			return true
		}
	}
	return false
}

// printHelp writes the manual, or with a command that command's part of it.
func printHelp(w io.Writer, command string) {
	if command == "" {
		fmt.Fprint(w, "garm-entrypoint runs garm as its child and brings the server to the initialised\nstate: the admin exists and can log in, the controller URLs are set.\n\n")
	}
	fmt.Fprint(w, "Commands:\n")
	for _, c := range commandHelp {
		if command == "" || c.command == command {
			entry(w, c.call, c.does)
		}
	}
	printOptions(w, command)
	if command != "" {
		return
	}
	fmt.Fprint(w, "\nExit codes:\n")
	for _, c := range exitCodes {
		entry(w, c.code, c.when)
	}
	fmt.Fprint(w, "\nStart here:\n"+
		"  docker run -d --name garm --stop-timeout 150 -v garm:/etc/garm \\\n"+
		"    -p 127.0.0.1:9997:9997 -e GARM_BASE_URL=http://localhost:9997 IMAGE\n"+
		"  docker logs garm\n")
}

// printOptions writes the options of a command, or all.
func printOptions(w io.Writer, command string) {
	first := true
	for _, o := range settings.Options {
		if command != "" && !o.AppliesTo(command) {
			continue
		}
		if first {
			fmt.Fprint(w, "\nOptions. Each has a flag and a variable, the flag wins. X_FILE is the path of a\nfile that holds the value of X.\n")
			first = false
		}
		entry(w, namesOf(o), o.Help+" ("+defaultOf(o)+")")
	}
}

// namesOf an option: the flag and the variables.
func namesOf(o settings.Option) string {
	names := o.Variable
	if o.File {
		names += ", " + o.Variable + "_FILE"
	}
	if o.Secret {
		return names + " (no flag)"
	}
	return "--" + o.Flag() + ", " + names
}

func defaultOf(o settings.Option) string {
	if o.Shown != "" {
		return "default: " + o.Shown
	}
	return "default: " + o.Default
}

// entry writes a term and, indented below it, its text wrapped to 80 columns.
func entry(w io.Writer, term, text string) {
	fmt.Fprintf(w, "  %s\n", term)
	line := "     "
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > 80 {
			fmt.Fprintln(w, line)
			line = "     "
		}
		line += " " + word
	}
	fmt.Fprintln(w, line)
}
