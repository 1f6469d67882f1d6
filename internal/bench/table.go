package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is printed so that it is plain text and Markdown at once.
type table struct {
	title  string
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(widths))
	for i, width := range widths {
		rule[i] = strings.Repeat("-", width)
	}
	fmt.Fprintf(w, "\n%s\n\n", t.title)
	for _, row := range append([][]string{t.header, rule}, t.rows...) {
		for i, cell := range row {
			fmt.Fprintf(w, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(w, "|")
	}
}

// verdict on a target.
func verdict(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}
