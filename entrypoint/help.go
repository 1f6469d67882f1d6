package main

import (
	"fmt"
	"io"
	"strings"
)

// commandHelp is the table of commands that --help and the README show.
var commandHelp = []struct{ call, does string }{
	{"garm-entrypoint [run] [FLAGS] [-- GARM ARGS]", "supervises garm and initialises it: the main job"},
	{"garm-entrypoint -FLAG ...", "the same; the arguments go to garm, as in the upstream image"},
	{"garm-entrypoint garm ARGS", "the same as run -- ARGS"},
	{"garm-entrypoint init [FLAGS]", "one shot: initialises the server at GARM_SERVER, then exits; --dry-run says what it would do, --output json is for scripts"},
	{"garm-entrypoint init --spawn [FLAGS]", "as an init container: starts garm itself on a loopback address, initialises it, stops it and exits 0"},
	{"garm-entrypoint watch [FLAGS]", "keeps the server at GARM_SERVER initialised until it is signalled"},
	{"garm-entrypoint healthcheck [--live] [--server URL]", "exit 0 when the server is ready (--live: when its API answers), else 1 and why"},
	{"garm-entrypoint check [FLAGS]", "validates the configuration, lists every fault; exit 0 or 78"},
	{"garm-entrypoint exec -- CMD ARGS", "supervises CMD, initialises nothing"},
	{"garm-entrypoint CMD ARGS", "the same for any other word: docker run -it IMAGE sh"},
	{"garm-entrypoint version, help [COMMAND]", "print"},
}

// printHelp writes the manual, or with a command that command's flags.
func printHelp(w io.Writer, command string) {
	if command != "" {
		fmt.Fprintf(w, "garm-entrypoint %s: %s\n", command, purposeOf(command))
	} else {
		fmt.Fprint(w, "garm-entrypoint runs garm as its child and brings the server to the initialised\nstate: the admin exists and can log in, the controller URLs are set.\n\nCommands:\n")
		for _, c := range commandHelp {
			entry(w, c.call, c.does)
		}
	}
	fmt.Fprint(w, "\nOptions. Each has a flag and a variable, the flag wins. The password has no flag.\nX_FILE is the path of a file that holds the value of X.\n")
	for _, o := range options {
		if command == "" || o.appliesTo(command) {
			entry(w, o.names(), o.help+" ("+o.defaultText()+")")
		}
	}
	if command != "" {
		return
	}
	fmt.Fprint(w, "\nExit codes:\n")
	for _, c := range exitCodes {
		entry(w, c.code, c.when)
	}
	fmt.Fprint(w, "\nStart here:  docker run -d --name garm -p 9997:9997 -v garm:/etc/garm IMAGE\n             docker logs garm\n")
}

// purposeOf is the table's line for a command.
func purposeOf(command string) string {
	for _, c := range commandHelp {
		for _, word := range strings.FieldsFunc(c.call, func(r rune) bool { return r == ' ' || r == '[' || r == ']' || r == ',' }) {
			if word == command {
				return c.does
			}
		}
	}
	return ""
}

// names of an option: the flag and the variables.
func (o option) names() string {
	names := o.variable
	if o.file {
		names += ", " + o.variable + "_FILE"
	}
	if o.secret {
		return names
	}
	return "--" + o.flag() + ", " + names
}

func (o option) defaultText() string {
	if o.shown != "" {
		return "default: " + o.shown
	}
	return "default: " + o.def
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
