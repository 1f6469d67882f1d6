package main

import (
	"os/exec"
	"slices"
	"time"
)

const (
	// ours is the contender that is judged.
	ours = "garm-entrypoint"
	// least is testdata/least, which shows what Go itself costs. It can neither forward nor reap.
	least = "least Go"
)

// contender is an init that is measured.
type contender struct {
	name        string
	path        string // empty: not installed
	plain, pid1 []string
}

// contenders are ours, the ones of Debian that it is compared with, and the least.
func contenders(entrypoint, leastPath string) []contender {
	all := []contender{
		{name: ours, path: entrypoint, plain: []string{"exec", "--"}},
		{name: "tini", plain: []string{"-s", "--"}, pid1: []string{"--"}}, // -s: reaps also when it is not PID 1
		{name: "dumb-init", plain: []string{"--"}},
		{name: "catatonit", plain: []string{"--"}},
		{name: least, path: leastPath},
	}
	for i := range all {
		if all[i].path == "" {
			all[i].path, _ = exec.LookPath(all[i].name) // empty when it is missing
		}
		if all[i].pid1 == nil {
			all[i].pid1 = all[i].plain
		}
	}
	return all
}

// run starts the probe under an init.
func (b *bench) run(c contender, pid1 bool, args ...string) *process {
	flags := c.plain
	if pid1 {
		flags = c.pid1
	}
	return b.launch(how{pid1: pid1}, slices.Concat([]string{c.path}, flags, []string{b.probe}, args)...)
}

// interleave measures the inits turn by turn, each turn in another order.
func (b *bench) interleave(turns int, measure func(c contender)) {
	b.withLeast(turns, func(c contender) {
		if c.name != least {
			measure(c)
		}
	})
}

// withLeast does so too, with the least, for what that can do.
func (b *bench) withLeast(turns int, measure func(c contender)) {
	for turn := range turns {
		for i := range b.inits {
			if c := b.inits[(i+turn)%len(b.inits)]; c.path != "" {
				measure(c)
			}
		}
	}
}

// figure is one line of the table of inits.
type figure struct {
	name    string
	samples map[string]samples // by contender
	target  string
	met     func(own samples, peers map[string]samples) bool // nil: no target
}

// best is the peer with the lowest median.
func best(peers map[string]samples) samples {
	var best samples
	for name, s := range peers {
		if name != ours && name != least && len(s) > 0 && (best == nil || s.median() < best.median()) {
			best = s
		}
	}
	return best
}

// within tells whether our median is in the range of the best peer: no worse, but for noise.
func within(own samples, peers map[string]samples) bool { return own.median() <= best(peers).worst() }

// initTable measures everything about the inits. Its order is that of docs/how-it-works.md.
func (b *bench) initTable() *table {
	t := &table{title: "`garm-entrypoint exec -- CMD` beside other inits: ms, median / 99th percentile (worst of fewer than 100)"}
	t.header = []string{""}
	for _, c := range b.inits {
		t.header = append(t.header, c.name)
	}
	t.header = append(t.header, "to the best", "target", "")
	for _, measure := range []func() []figure{b.startFigures, b.signalFigures, b.orphanFigures, b.exitFigures} {
		for _, f := range measure() {
			b.addFigure(t, f)
		}
	}
	b.addIdle(t)
	return t
}

func (b *bench) addFigure(t *table, f figure) {
	row := []string{f.name}
	for _, c := range b.inits {
		row = append(row, f.samples[c.name].text())
	}
	judged := ""
	if f.met != nil {
		judged = verdict(f.met(f.samples[ours], f.samples))
	}
	t.add(append(row, ratio(f.samples[ours].median(), best(f.samples).median()), f.target, judged)...)
}

// way is one in which an init can run.
type way struct {
	name string
	pid1 bool
}

// ways are those that are possible here.
func (b *bench) ways() []way {
	plain := way{name: "plain process"}
	if b.pid1 {
		return []way{{name: "PID 1", pid1: true}, plain}
	}
	return []way{plain}
}

// record adds a sample.
func (f *figure) record(c contender, d time.Duration) {
	if f.samples == nil {
		f.samples = map[string]samples{}
	}
	f.samples[c.name] = append(f.samples[c.name], d)
}
