package provision

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// WritePlan writes a plan for people: a line for each change, then what stands in the way, and a summary. Whether
// colours (ANSI X3.64) are wanted only the caller knows.
func WritePlan(w io.Writer, p *Plan, colours bool) error {
	f := &formatter{colours: colours}
	f.changes(p.Changes)
	f.rest(p.Problems, p.Drift, p.Undeclared)
	counts := map[Action]int{}
	for _, c := range p.Changes {
		counts[c.Action]++
	}
	switch {
	case p.Empty():
		f.linef("no differences: %d unchanged", p.Unchanged)
	default:
		f.linef("to create %d, to update %d, to delete %d, unchanged %d%s",
			counts[Create], counts[Update], counts[Delete], p.Unchanged, someProblems(len(p.Problems)))
	}
	_, err := io.WriteString(w, f.text.String())
	return err
}

// WriteResult writes what Apply did, as WritePlan does.
func WriteResult(w io.Writer, r *Result, colours bool) error {
	f := &formatter{colours: colours}
	f.changes(r.Changes)
	f.rest(r.Problems, r.Drift, r.Undeclared)
	f.linef("created %d, updated %d, deleted %d, unchanged %d, failed %d, took %s",
		r.Created, r.Updated, r.Deleted, r.Unchanged, r.Failed, shortly(r.Took))
	_, err := io.WriteString(w, f.text.String())
	return err
}

func someProblems(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", not possible %d", n)
}

// shortly rounds a duration to what people read.
func shortly(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// Colours of terminals.
const (
	red, green, yellow = "\x1b[31m", "\x1b[32m", "\x1b[33m"
	noColour           = "\x1b[0m"
)

var actionColours = map[Action]string{Create: green, Update: yellow, Delete: red}

type formatter struct {
	text    strings.Builder
	colours bool
}

func (f *formatter) linef(format string, args ...any) {
	f.text.WriteString(oneTerminalLine(fmt.Sprintf(format, args...)) + "\n")
}

// marked is a line that begins with a coloured sign.
func (f *formatter) marked(sign, colour, text string) {
	if f.colours {
		sign = colour + sign + noColour
	}
	f.text.WriteString(sign + " " + oneTerminalLine(text) + "\n")
}

func (f *formatter) changes(all []Change) {
	for _, c := range all {
		f.marked(string(c.Action), actionColours[c.Action], c.Object+c.fields()+behind(c.Note))
	}
}

// rest is what was not done, and why.
func (f *formatter) rest(problems []Problem, drift []Change, undeclared []string) {
	for _, p := range problems {
		at := ""
		if p.Place.Line > 0 {
			at = " (" + p.Place.String() + ")"
		}
		later := ""
		if p.Later {
			later = "; trying again may help"
		}
		f.marked("!", red, p.Object+at+": "+p.Text+later)
	}
	for _, c := range drift {
		f.marked("?", yellow, c.Object+c.fields()+behind(c.Note)+": changed by hand, left alone")
	}
	for _, object := range undeclared {
		f.marked("?", yellow, object+": no longer declared, left alone (GARM_PROVISION_PRUNE=true deletes it)")
	}
}

func behind(note string) string {
	if note == "" {
		return ""
	}
	return " (" + note + ")"
}

// fields of a change, with what they were and what they become. Of a secret only that it changes.
func (c Change) fields() string {
	all := make([]string, 0, len(c.Fields))
	for _, f := range c.Fields {
		switch {
		case f.Secret && c.Action == Create:
			all = append(all, f.Name+" set")
		case f.Secret:
			all = append(all, f.Name+" changed")
		case c.Action == Create:
			all = append(all, f.Name+" "+cut(f.To))
		default:
			all = append(all, f.Name+" "+cut(f.From)+" → "+cut(f.To))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// maxShown bounds a value in a line, in characters.
const maxShown = 100

func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxShown {
		return s
	}
	return string([]rune(s)[:maxShown-1]) + "…"
}

// oneTerminalLine keeps what a server says from breaking lines and from talking to the terminal.
func oneTerminalLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
