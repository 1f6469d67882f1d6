package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// Everything can still be measured. What comes out is not judged: it is one turn, on a machine that is busy with other
// tests.
func TestQuick(t *testing.T) {
	b := newBench(t, testgarm.Entrypoint(t), quick)
	rows := printed(b.initTable())
	if b.pid1 && len(rows) != 11 || !b.pid1 && len(rows) != 7 {
		t.Errorf("%d rows about inits:\n%s", len(rows), strings.Join(rows, "\n"))
	}
	if !testing.Short() {
		b.garm = testgarm.Garm(t)
		rows = append(rows, printed(b.garmTable())...)
		rows = append(rows, printed(b.provisionTable())...)
	}
	figure := regexp.MustCompile(`^\| [^|]+\| \d+`)
	for _, row := range rows {
		if !figure.MatchString(row) {
			t.Errorf("nothing was measured: %s", row)
		}
	}
}

// printed are the rows below the header.
func printed(t *table) []string {
	var text strings.Builder
	t.print(&text)
	_, rows, _ := strings.Cut(text.String(), "| --")
	return strings.Split(strings.TrimSpace(rows), "\n")[1:]
}

func TestQuantile(t *testing.T) {
	var hundred samples
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i))
	}
	for _, test := range []struct {
		name      string
		got, want time.Duration
	}{
		{"none", samples{}.median(), 0},
		{"one", samples{7}.p99(), 7},
		{"median of two", samples{2, 1}.median(), 1},
		{"median of three", samples{3, 9, 1}.median(), 3},
		{"median of 100", hundred.median(), 50},
		{"99th of 100", hundred.p99(), 99},
		{"worst of 100", hundred.worst(), 100},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", test.name, test.got, test.want)
		}
	}
}

func TestBestPeer(t *testing.T) {
	peers := map[string]samples{ours: {1}, "a": {5, 5, 9}, "b": {4, 6, 8}, "missing": nil}
	if got := best(peers).median(); got != 5 {
		t.Errorf("best: %d", got)
	}
	if !within(samples{9}, peers) || within(samples{10}, peers) {
		t.Error("a median is no worse than the best peer up to that peer's worst, and not beyond")
	}
}

func TestTableIsMarkdown(t *testing.T) {
	table := table{title: "T", header: []string{"", "é"}}
	table.add("long", ms(1234567))
	var text strings.Builder
	table.print(&text)
	if want := "\nT\n\n|      | é    |\n| ---- | ---- |\n| long | 1.23 |\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}

func TestScaled(t *testing.T) {
	for _, test := range []struct {
		own, limit, best, reference time.Duration
		want                        bool
	}{
		{39, 40, 10, 10, true},
		{40, 40, 10, 10, false},
		{39, 40, 5, 10, true},   // a faster machine: the limit stays
		{119, 40, 30, 10, true}, // one three times as slow
		{120, 40, 30, 10, false},
	} {
		if got := scaled(test.own, test.limit, test.best, test.reference); got != test.want {
			t.Errorf("%d of %d, best %d of %d: %v", test.own, test.limit, test.best, test.reference, got)
		}
	}
}
