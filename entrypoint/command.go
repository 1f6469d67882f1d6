package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"garm-entrypoint/entrypoint/settings"
)

// Our commands. The options table says which option belongs to which.
const (
	cmdRun         = settings.CmdRun
	cmdInit        = settings.CmdInit
	cmdWatch       = settings.CmdWatch
	cmdHealthcheck = settings.CmdHealthcheck
	cmdCheck       = settings.CmdCheck
	cmdPlan        = settings.CmdPlan
	cmdApply       = settings.CmdApply
	cmdExport      = settings.CmdExport
	cmdExec        = settings.CmdExec
	cmdVersion     = settings.CmdVersion
	cmdHelp        = settings.CmdHelp
)

// invocation is what the command line asks for.
type invocation struct {
	command string
	// flags that were given, by name.
	flags map[string]string
	// args for the program that is run: garm's, or CMD and its own.
	args []string
	// word: CMD was given without exec, so it may be a mistyped command.
	word bool
	// printOnly: garm's arguments make it print and end (-version).
	printOnly bool
	// subcommand: args begin with a word of garm's own (admin list, of garms after v0.2.1), for which there is no
	// server to initialise.
	subcommand bool
	// Of healthcheck.
	live   bool
	server string
	// Of init.
	output string // of plan and apply too
	dryRun bool
	spawn  bool
	// Of export.
	fromConfig bool
}

// usageError is wrong usage: exit code 64.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// parse reads the command line (without the program's name). Our reserved words come first; a dash belongs to garm, as
// in the upstream image; any other word is a program to supervise.
func parse(args []string) (invocation, error) {
	if len(args) == 0 {
		return invocation{command: cmdRun}, nil
	}
	word, rest := args[0], args[1:]
	switch word {
	case "-h", "--help", cmdHelp:
		return invocation{command: cmdHelp, args: rest}, nil
	case cmdVersion:
		return invocation{command: cmdVersion}, nil
	case cmdRun, cmdInit, cmdWatch, cmdHealthcheck, cmdCheck, cmdPlan, cmdApply, cmdExport:
		return parseFlags(word, rest)
	case "garm":
		if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
			return invocation{command: cmdRun, args: rest, subcommand: true}, nil
		}
		return forGarm(invocation{command: cmdRun}, rest)
	case cmdExec:
		rest, _ = cutDashes(rest)
		if len(rest) == 0 {
			return invocation{}, usagef("exec needs a program: garm-entrypoint exec -- CMD [ARGS]")
		}
		return invocation{command: cmdExec, args: rest}, nil
	}
	if strings.HasPrefix(word, "-") {
		if o, ours := optionOf(word); ours && o.Variable != "GARM_CONFIG" {
			return invocation{}, usagef("--%s is a flag of ours, so it goes after the word run: garm-entrypoint run --%s …; without that word flags are garm's", o.Flag(), o.Flag())
		}
		rest, _ := cutDashes(args)
		return forGarm(invocation{command: cmdRun}, rest)
	}
	return invocation{command: cmdExec, args: args, word: true}, nil
}

// optionOf returns the option whose flag an argument is.
func optionOf(arg string) (settings.Option, bool) {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	for _, o := range settings.Options {
		if o.Flag() == name && !o.Secret {
			return o, true
		}
	}
	return settings.Option{}, false
}

// cutDashes removes a leading "--".
func cutDashes(args []string) ([]string, bool) {
	if len(args) > 0 && args[0] == "--" {
		return args[1:], true
	}
	return args, false
}

// parseFlags reads the flags of one of our own commands.
func parseFlags(command string, args []string) (invocation, error) {
	inv := invocation{command: command, flags: map[string]string{}}
	own, garms := args, []string(nil)
	if n := slices.Index(args, "--"); n >= 0 {
		own, garms = args[:n], args[n+1:]
	}
	set := flagSet(&inv)
	switch err := set.Parse(own); {
	case errors.Is(err, flag.ErrHelp):
		return invocation{command: cmdHelp, args: []string{command}}, nil
	case err != nil:
		return inv, usagef("%s: %v; see garm-entrypoint help", command, err)
	case set.NArg() > 0 && command == cmdRun:
		return inv, usagef("run: unexpected argument %q; arguments for garm go after --", set.Arg(0))
	case set.NArg() > 0 && (command == cmdPlan || command == cmdApply):
		inv.args = set.Args()
	case set.NArg() > 0:
		return inv, usagef("%s: unexpected argument %q; see garm-entrypoint help", command, set.Arg(0))
	}
	if len(garms) > 0 && command != cmdRun {
		return inv, usagef("%s: only run takes arguments for garm", command)
	}
	if inv.output != "" && inv.output != "text" && inv.output != "json" {
		return inv, usagef("%s: --output is text or json, not %q", command, inv.output)
	}
	if command == cmdInit {
		if err := inv.checkInit(); err != nil {
			return inv, err
		}
	}
	return forGarm(inv, garms)
}

// checkInit refuses flags that mean nothing together.
func (inv invocation) checkInit() error {
	if inv.spawn && (inv.dryRun || inv.output != "text") {
		return usagef("init: --spawn goes with neither --dry-run nor --output")
	}
	for _, o := range settings.Options {
		_, given := inv.flags[o.Flag()]
		switch {
		case given && inv.spawn && !o.AppliesTo(cmdRun):
			return usagef("init: --%s means nothing with --spawn, which starts its own server", o.Flag())
		case given && !inv.spawn && !o.AppliesTo(cmdInit):
			return usagef("init: --%s goes with --spawn only", o.Flag())
		}
	}
	return nil
}

// flagSet declares the flags of a command.
func flagSet(inv *invocation) *flag.FlagSet {
	set := flag.NewFlagSet(inv.command, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	for _, o := range settings.Options {
		// init takes those of run as well: with --spawn it is a kind of run.
		if o.Secret || !o.AppliesTo(inv.command) && (inv.command != cmdInit || !o.AppliesTo(cmdRun)) {
			continue
		}
		set.Var(&flagValue{name: o.Flag(), into: inv.flags, toggle: o.Toggle()}, o.Flag(), o.Help)
	}
	switch inv.command {
	case cmdHealthcheck:
		set.BoolVar(&inv.live, "live", false, "")
		set.StringVar(&inv.server, "server", "", "")
	case cmdPlan, cmdApply:
		set.StringVar(&inv.output, "output", "text", "")
	case cmdExport:
		set.BoolVar(&inv.fromConfig, "from-config", false, "")
	case cmdInit:
		set.StringVar(&inv.output, "output", "text", "")
		set.BoolVar(&inv.dryRun, "dry-run", false, "")
		set.BoolVar(&inv.spawn, "spawn", false, "")
	}
	return set
}

// flagValue notes that a flag was given; the settings check it.
type flagValue struct {
	name   string
	into   map[string]string
	toggle bool
}

func (f *flagValue) String() string     { return "" }
func (f *flagValue) Set(v string) error { f.into[f.name] = v; return nil }
func (f *flagValue) IsBoolFlag() bool   { return f.toggle }

// forGarm takes out of garm's arguments what concerns us too: the config, which we read and pass on with two dashes,
// since one dash ends with garm v0.2; and the flags that only print.
func forGarm(inv invocation, args []string) (invocation, error) {
	if inv.flags == nil {
		inv.flags = map[string]string{}
	}
	ours, given := inv.flags["config"]
	for n := 0; n < len(args); n++ {
		name, value, inline := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(args[n], "-"), "-"), "=")
		dashed := strings.HasPrefix(args[n], "-")
		switch {
		case dashed && name == "config":
			if !inline {
				if n+1 == len(args) {
					return inv, usagef("--config needs the path of garm's config")
				}
				n++
				value = args[n]
			}
			if value == "" {
				return inv, usagef("--config needs the path of garm's config")
			}
			if given && ours != value {
				return inv, usagef("the config is given twice: %s and %s", ours, value)
			}
			inv.flags["config"] = value
		case dashed && (name == "version" || name == "v" || name == "h" || name == "help"):
			inv.printOnly = true
			inv.args = append(inv.args, args[n])
		default:
			inv.args = append(inv.args, args[n])
		}
	}
	return inv, nil
}
