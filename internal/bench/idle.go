package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// resources of a process at rest.
type resources struct {
	rss, anonymous int // kB
	threads        int
	switches       int // of all its threads, since they exist
}

// memoryLimits of DESIGN.md, in kB.
const maxRSS, maxAnonymous = 12 << 10, 3 << 10

// addIdle measures inits that have nothing to do.
func (b *bench) addIdle(t *table) {
	processes, before, after := map[string]*process{}, map[string]resources{}, map[string]resources{}
	b.interleave(1, func(c contender) {
		p := b.run(c, b.pid1, "idle")
		p.stamp()
		processes[c.name] = p
	})
	time.Sleep(b.settle)
	b.interleave(1, func(c contender) { before[c.name] = b.resources(processes[c.name].pid) })
	time.Sleep(b.idle)
	b.interleave(1, func(c contender) { after[c.name] = b.resources(processes[c.name].pid) })
	for _, p := range processes {
		p.kill()
	}
	add := func(name, target string, met bool, value func(name string) string) {
		row := []string{name}
		for _, c := range b.inits {
			if _, measured := after[c.name]; !measured {
				row = append(row, "-")
				continue
			}
			row = append(row, value(c.name))
		}
		judged := ""
		if target != "" {
			judged = verdict(met)
		}
		t.add(append(row, "", target, judged)...)
	}
	own, switches := after[ours], func(name string) int { return after[name].switches - before[name].switches }
	add("idle: RSS, MB", "< 12", own.rss < maxRSS, func(name string) string { return mb(after[name].rss) })
	add("idle: anonymous memory, MB", "< 3", own.anonymous < maxAnonymous, func(name string) string { return mb(after[name].anonymous) })
	add("idle: threads", "", true, func(name string) string { return fmt.Sprint(after[name].threads) })
	add(fmt.Sprintf("context switches in %v", b.idle), "0", switches(ours) == 0, func(name string) string { return fmt.Sprint(switches(name)) })
}

func mb(kb int) string { return fmt.Sprintf("%.2f", float64(kb)/1024) }

// resources reads what the kernel says of a process.
func (b *bench) resources(pid int) resources {
	var r resources
	memory := b.fields(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	r.rss, r.anonymous = memory["Rss"], memory["Anonymous"]
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	r.threads = len(tasks)
	for _, task := range tasks {
		status := b.fields(task)
		r.switches += status["voluntary_ctxt_switches"] + status["nonvoluntary_ctxt_switches"]
	}
	return r
}

// fields are the numbers in a file of lines like "Rss: 12 kB".
func (b *bench) fields(path string) map[string]int {
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	found := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, rest, _ := strings.Cut(line, ":")
		if values := strings.Fields(rest); len(values) > 0 {
			if n, err := strconv.Atoi(values[0]); err == nil {
				found[name] = n
			}
		}
	}
	return found
}
