package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/settings"
)

// table renders rows in Markdown.
func table(head []string, rows [][]string) string {
	var out strings.Builder
	row := func(cells []string) {
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row(head)
	row(slices.Repeat([]string{"---"}, len(head)))
	for _, r := range rows {
		for n := range r {
			r[n] = strings.ReplaceAll(r[n], "|", `\|`)
		}
		row(r)
	}
	return out.String()
}

func optionsTable() string {
	var rows [][]string
	for _, o := range settings.Options {
		name := "`" + o.Variable + "`"
		if o.File {
			name += ", `" + o.Variable + "_FILE`"
		}
		flag := "`--" + o.Flag() + "`"
		if o.Secret {
			flag = "none"
		}
		def := o.Shown
		if def == "" {
			def = "`" + o.Default + "`"
		}
		var commands []string
		for _, c := range []string{cmdRun, cmdCheck, cmdInit, cmdWatch, cmdHealthcheck, cmdPlan, cmdApply, cmdExport} {
			if o.AppliesTo(c) {
				commands = append(commands, c)
			}
		}
		rows = append(rows, []string{name, flag, def, o.Help, strings.Join(commands, ", ")})
	}
	return table([]string{"Variable", "Flag", "Default", "Meaning", "Used by"}, rows)
}

func commandsTable() string {
	var rows [][]string
	for _, c := range commandHelp {
		rows = append(rows, []string{"`" + c.call + "`", c.does})
	}
	return table([]string{"Call", "Does"}, rows)
}

func exitCodesTable() string {
	var rows [][]string
	for _, c := range exitCodes {
		rows = append(rows, []string{c.code, c.when})
	}
	return table([]string{"Code", "When"}, rows)
}

// The reference tables of the pages are the code's own.
func TestPageTables(t *testing.T) {
	for _, c := range []struct{ page, name, want string }{
		{"configuration.md", "options", optionsTable()},
		{"configuration.md", "commands", commandsTable()},
		{"configuration.md", "exit codes", exitCodesTable()},
		{"releases.md", "versions", releasesTable()},
	} {
		path := "../docs/" + c.page
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, opened := strings.Cut(string(data), "<!-- "+c.name+" -->\n")
		got, after, closed := strings.Cut(rest, "<!-- /"+c.name+" -->\n")
		switch {
		case !opened || !closed:
			t.Errorf("%s has no place for the table of %s", path, c.name)
		case got == c.want:
		case *update:
			text := before + "<!-- " + c.name + " -->\n" + c.want + "<!-- /" + c.name + " -->\n" + after
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: the table of %s is not the code's; run with -update", path, c.name)
		}
	}
}

// Every variable and flag that a page speaks of exists.
func TestPageNames(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"GARM_CONFIG_FILE": true, "GARM_PORT": true, "GARM_IMAGE": true, "GARM_VERSION": true}
	for _, o := range settings.Options {
		known[o.Variable] = true
		known[o.Variable+"_FILE"] = o.File || known[o.Variable+"_FILE"]
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("the pages are %v (%v)", pages, err)
	}
	for _, page := range append(pages, "../README.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, name := range regexp.MustCompile(`GARM_[A-Z_]*[A-Z]`).FindAllString(text, -1) {
			if !known[name] && !strings.HasPrefix(name, "GARM_ENTRYPOINT_") { // the tests' own
				t.Errorf("%s speaks of %s, which does not exist", page, name)
			}
		}
		for _, call := range regexp.MustCompile("garm-entrypoint (run|init|watch|check|healthcheck) ([^`\n]*)").FindAllStringSubmatch(text, -1) {
			flags := flagSet(&invocation{command: call[1], flags: map[string]string{}})
			ours, _, _ := strings.Cut(call[2], " -- ")
			for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(ours, -1) {
				if flags.Lookup(m[1]) == nil {
					t.Errorf("%s speaks of --%s, which does not exist: %s", page, m[1], call[0])
				}
			}
		}
	}
}
