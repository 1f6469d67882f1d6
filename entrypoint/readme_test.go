package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const readmePath = "../README.md"

func readme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

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
	for _, o := range options {
		name := "`" + o.variable + "`"
		if o.file {
			name += ", `" + o.variable + "_FILE`"
		}
		flag := "`--" + o.flag() + "`"
		if o.secret {
			flag = "none"
		}
		def := o.shown
		if def == "" {
			def = "`" + o.def + "`"
		}
		var commands []string
		for _, c := range []string{cmdRun, cmdCheck, cmdInit, cmdWatch, cmdHealthcheck} {
			if o.appliesTo(c) {
				commands = append(commands, c)
			}
		}
		rows = append(rows, []string{name, flag, def, o.help, strings.Join(commands, ", ")})
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

// The reference tables are the code's own.
func TestReadmeTables(t *testing.T) {
	text := readme(t)
	for name, want := range map[string]string{"options": optionsTable(), "commands": commandsTable(), "exit codes": exitCodesTable(), "versions": releasesTable()} {
		before, rest, opened := strings.Cut(text, "<!-- "+name+" -->\n")
		got, after, closed := strings.Cut(rest, "<!-- /"+name+" -->\n")
		switch {
		case !opened || !closed:
			t.Errorf("%s has no place for the table of %s", readmePath, name)
		case *update:
			text = before + "<!-- " + name + " -->\n" + want + "<!-- /" + name + " -->\n" + after
		case got != want:
			t.Errorf("%s: the table of %s is not the code's; run with -update", readmePath, name)
		}
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(readmePath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Every variable and flag that the README speaks of exists.
func TestReadmeNames(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"GARM_CONFIG_FILE": true, "GARM_PORT": true, "GARM_IMAGE": true, "GARM_VERSION": true}
	for _, o := range options {
		known[o.variable] = true
		known[o.variable+"_FILE"] = o.file || known[o.variable+"_FILE"]
	}
	text := readme(t)
	for _, name := range regexp.MustCompile(`GARM_[A-Z_]*[A-Z]`).FindAllString(text, -1) {
		if !known[name] {
			t.Errorf("the README speaks of %s, which does not exist", name)
		}
	}
	for _, call := range regexp.MustCompile("garm-entrypoint (run|init|watch|check|healthcheck) ([^`\n]*)").FindAllStringSubmatch(text, -1) {
		flags := flagSet(&invocation{command: call[1], flags: map[string]string{}})
		ours, _, _ := strings.Cut(call[2], " -- ")
		for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(ours, -1) {
			if flags.Lookup(m[1]) == nil {
				t.Errorf("the README speaks of --%s, which does not exist: %s", m[1], call[0])
			}
		}
	}
}

// sources is the text of our Go files, tests left out.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// Every line of ours that the README quotes can still come: those in pasted
// logs, and the beginnings of rows in the table of messages.
func TestReadmeMessages(t *testing.T) {
	t.Parallel()
	text, code := readme(t), sources(t)
	var quoted []string
	for _, l := range strings.Split(text, "\n") {
		if m := regexp.MustCompile(`msg=("(?:[^"\\]|\\.)*"|\S+) program=garm-entrypoint`).FindStringSubmatch(l); m != nil {
			quoted = append(quoted, strings.Trim(m[1], `"`))
		}
	}
	_, rows, _ := strings.Cut(text, "<!-- messages -->\n")
	rows, _, _ = strings.Cut(rows, "<!-- /messages -->\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(rows, -1) {
		quoted = append(quoted, m[1])
	}
	if len(quoted) < 10 {
		t.Fatalf("the README quotes %d of our lines only: is it still read rightly?", len(quoted))
	}
	for _, message := range quoted {
		for _, part := range regexp.MustCompile(`: | … `).Split(message, -1) { // what is put together, and what varies
			if !strings.Contains(code, part) {
				t.Errorf("the README quotes %q, which no code says", part)
			}
		}
	}
}

// A link within the README leads somewhere, and one to a file as well.
func TestReadmeLinks(t *testing.T) {
	t.Parallel()
	text := readme(t)
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors["#"+strings.ReplaceAll(anchor, " ", "-")] = true
	}
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		switch to := m[1]; {
		case strings.HasPrefix(to, "https://"):
		case strings.HasPrefix(to, "#"):
			if !anchors[to] {
				t.Errorf("there is no heading for %s", to)
			}
		default:
			if _, err := os.Stat(filepath.Join("..", to)); err != nil {
				t.Errorf("there is no file %s", to)
			}
		}
	}
}
