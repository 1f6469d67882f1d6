package main

import (
	"fmt"
	"syscall"
	"time"
)

// startFigures: from the execution of the init to the first line of its child's main.
func (b *bench) startFigures() (figures []figure) {
	for _, way := range b.ways() {
		f := figure{name: "start to child's main, " + way.name, target: "< 4 ms where a C peer needs 1"}
		f.met = func(own samples, peers map[string]samples) bool {
			return scaled(own.median(), 4*time.Millisecond, best(peers).median(), time.Millisecond)
		}
		b.withLeast(b.starts, func(c contender) {
			p := b.run(c, way.pid1, "start")
			f.record(c, p.stamp()-p.announced)
			p.expect(0)
		})
		figures = append(figures, f)
	}
	return figures
}

// signalFigures: from kill(2) to the return of the child's sigwaitinfo(2). All inits live at once and are asked turn by
// turn, with pauses, so that each is at rest when its signal comes.
func (b *bench) signalFigures() []figure {
	f := figure{name: "signal to child", target: "< 0.1 / 0.2 where a C peer needs 0.015 / 0.06"}
	f.met = func(own samples, peers map[string]samples) bool {
		const us = time.Microsecond
		return scaled(own.median(), 100*us, best(peers).median(), 15*us) && scaled(own.p99(), 200*us, best(peers).p99(), 60*us)
	}
	processes := map[string]*process{}
	b.interleave(1, func(c contender) {
		p := b.run(c, b.pid1, "answer")
		p.stamp() // started
		p.stamp() // ready
		processes[c.name] = p
	})
	time.Sleep(b.settle)
	b.interleave(b.signals, func(c contender) {
		p := processes[c.name]
		sent := monotonic()
		p.signal(syscall.SIGUSR1)
		f.record(c, p.stamp()-sent)
		time.Sleep(300 * time.Microsecond)
	})
	for _, p := range processes {
		p.kill()
	}
	return []figure{f}
}

// scaled tells whether we are below limit on a machine where the best peer needs reference; on a slower one, in
// proportion.
func scaled(own, limit, best, reference time.Duration) bool {
	return own.Seconds() < limit.Seconds()*max(1, best.Seconds()/reference.Seconds())
}

// exitFigures: from before the child's _exit(2) to the return of our waitpid(2) for the init. As PID 1 the kernel's
// dismantling of the namespace is in it.
func (b *bench) exitFigures() (figures []figure) {
	for _, way := range b.ways() {
		f := figure{name: "child's exit to init's, " + way.name, target: "< 0.5 more than the best"}
		f.met = func(own samples, peers map[string]samples) bool {
			return own.median() < best(peers).median()+500*time.Microsecond
		}
		b.withLeast(b.exits, func(c contender) {
			p := b.run(c, way.pid1, "exit")
			p.stamp() // started
			out := p.out
			p.out = nil // stays open
			defer out.Close()
			code, at := p.wait()
			if code != 2 {
				b.Fatalf("%s ended with %d where its child ended with 2", c.name, code)
			}
			p.out = out
			f.record(c, at-p.stamp())
		})
		figures = append(figures, f)
	}
	return figures
}

// orphanFigures: how long dead orphans stay zombies. Once all at a time, that had died while the init was stopped; once
// as they come, from the birth of the last, which does not depend on how many there were before.
func (b *bench) orphanFigures() (figures []figure) {
	if !b.pid1 {
		return nil // not every peer adopts orphans otherwise
	}
	for _, n := range b.orphans {
		f := figure{name: fmt.Sprintf("%d orphans at once: zombies to none", n), target: "no worse than the best", met: within}
		b.interleave(b.reaps, func(c contender) { f.record(c, b.reapAtOnce(c, n)) })
		figures = append(figures, f)
	}
	n := b.orphans[0]
	f := figure{name: fmt.Sprintf("%d orphans one by one: last birth to no zombie", n), target: "no worse than the best", met: within}
	b.interleave(b.reaps, func(c contender) { f.record(c, b.reapAsTheyCome(c, n)) })
	return append(figures, f)
}

func (b *bench) reapAsTheyCome(c contender, n int) time.Duration {
	p := b.run(c, true, "orphans", fmt.Sprint(n))
	p.stamp() // started
	p.goOn()
	p.stamp() // begins
	born := p.stamp()
	gone := p.stamp()
	p.expect(0)
	return gone - born
}

func (b *bench) reapAtOnce(c contender, n int) time.Duration {
	p := b.run(c, true, "orphans", fmt.Sprint(n))
	p.stamp()                         // started
	time.Sleep(10 * time.Millisecond) // the init is at rest
	p.signal(syscall.SIGSTOP)
	p.goOn()
	p.stamp()                         // begins
	p.stamp()                         // all born
	time.Sleep(10 * time.Millisecond) // and dead
	continued := monotonic()
	p.signal(syscall.SIGCONT)
	gone := p.stamp()
	p.expect(0)
	return gone - continued
}
