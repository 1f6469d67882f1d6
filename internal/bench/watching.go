package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// watcher is a garm under our entrypoint, once it is ready.
type watcher struct {
	*server
	readyAt  time.Duration
	requests int // in garm's log, when the first look was still to come
}

func (b *bench) startWatcher(interval time.Duration) *watcher {
	s := b.newSite(testgarm.FreePort(b)).under("GARM_FIRST_BOOT=open", "GARM_WATCH_INTERVAL="+interval.String())
	return &watcher{server: s, readyAt: s.ready(), requests: len(s.accesses())}
}

// addWatching measures what goes on after ready: three at once, one that looks every 30 s, one that never looks and one
// that looks all the time.
func (b *bench) addWatching(t *table) {
	usual, never, often := b.startWatcher(30*time.Second), b.startWatcher(0), b.startWatcher(b.watchInterval)
	time.Sleep(b.garmSettle)
	garm := b.garmBelow(often.pid)
	cpuBefore, garmBefore := b.cpu(often.pid), b.cpu(garm)
	looksBefore, from := often.accesses(), monotonic()
	before := map[*watcher]resources{usual: b.resources(usual.pid), never: b.resources(never.pid)}
	time.Sleep(b.idle)
	looks, to := often.accesses()[len(looksBefore):], monotonic()
	cpuAfter, garmAfter := b.cpu(often.pid), b.cpu(garm)
	after := map[*watcher]resources{usual: b.resources(usual.pid), never: b.resources(never.pid), often: b.resources(often.pid)}
	all := len(often.accesses()) - often.requests
	if all < b.looks {
		b.Fatalf("garm was asked %d times only where %d looks are to be measured", all, b.looks)
	}
	for _, w := range []*watcher{usual, never, often} {
		w.stop()
	}
	memory := func(name string, r resources) {
		t.add(name+": RSS", mb(r.rss)+" MB", "", "", "< 12 MB", verdict(r.rss < maxRSS))
		t.add(name+": anonymous memory", mb(r.anonymous)+" MB", "", "", "< 3 MB", verdict(r.anonymous < maxAnonymous))
	}
	memory(fmt.Sprintf("%v after ready", b.garmSettle), before[usual])
	memory(fmt.Sprintf("after %d looks", all), after[often])
	switches := func(name string, w *watcher) {
		n := after[w].switches - before[w].switches
		t.add(fmt.Sprintf("context switches in %v, %s", b.idle, name), fmt.Sprint(n), "", "", "0", verdict(n == 0))
	}
	switches("between looks every 30 s", usual)
	switches("GARM_WATCH_INTERVAL=0", never)
	b.addLooks(t, looks, to-from)
	perLook := func(d time.Duration) string { return ms(d / time.Duration(max(len(looks), 1))) }
	t.add("CPU time of a look, ms; garm's", perLook(cpuAfter-cpuBefore), perLook(garmAfter-garmBefore), "", "", "")
}

// addLooks: one request per interval, which varies by a tenth, and all of them the same.
func (b *bench) addLooks(t *table, looks []string, span time.Duration) {
	rate := float64(len(looks)) * float64(b.watchInterval) / float64(span)
	met := rate < 1.1
	for _, line := range looks {
		met = met && strings.Contains(line, "method=GET uri=/api/v1/controller ")
	}
	t.add(fmt.Sprintf("requests that garm gets per interval of %v", b.watchInterval), fmt.Sprintf("%.2f", rate), "", "", "1", verdict(met && math.Round(rate) == 1))
}

// garmBelow is the process that our entrypoint runs.
func (b *bench) garmBelow(pid int) (child int) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, list := range lists {
		if data, err := os.ReadFile(list); err == nil && len(data) > 0 {
			_, _ = fmt.Sscan(string(data), &child)
		}
	}
	if child == 0 {
		b.Fatal("cannot find garm below garm-entrypoint")
	}
	return child
}

// cpu is the processor time of all threads of a process.
func (b *bench) cpu(pid int) (sum time.Duration) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		b.Fatal(err)
	}
	for _, task := range tasks {
		var ran int64
		if data, err := os.ReadFile(task); err == nil {
			_, _ = fmt.Sscan(string(data), &ran)
		}
		sum += time.Duration(ran)
	}
	return sum
}

func (b *bench) garmTable() *table {
	t := &table{title: "`garm-entrypoint run` with garm " + testgarm.Version(b) + ": ms, median / 99th percentile (worst of fewer than 100)"}
	t.header = []string{"", "garm-entrypoint", "beside", "ratio", "target", ""}
	b.addBoots(t)
	b.addWatching(t)
	return t
}
