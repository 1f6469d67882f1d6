package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// boots is what starts of garm took, the same things under our entrypoint and alone, measured in the same run turn by
// turn.
type boots struct {
	openRequests, aloneRequests    samples // listener accepts → admin created, URLs set
	open, guarded, once, twice     samples // new database: start → ready
	laterAuto, laterOpen, laterOne samples // old database: start → ready
}

// measureBoots makes a new database for each way of a first boot, in another order each turn.
func (b *bench) measureBoots() *boots {
	var r boots
	ways := []func(*boots){b.bootOpen, b.bootAlone, b.bootGuarded}
	for turn := range b.boots {
		for i := range ways {
			ways[(i+turn)%len(ways)](&r)
		}
	}
	return &r
}

func (b *bench) bootOpen(r *boots) {
	s := b.newSite(b.port).under("GARM_FIRST_BOOT=open")
	accepting := s.accepts()
	ready := s.ready()
	s.stop()
	r.openRequests = append(r.openRequests, ready-accepting)
	r.open = append(r.open, ready-s.began)
}

// bootAlone starts garm once and asks it what our entrypoint asks it, and then stops it and starts it once more.
func (b *bench) bootAlone(r *boots) {
	site := b.newSite(b.port)
	s := site.alone()
	accepting := s.accepts()
	c := s.connect()
	c.initialise()
	done := monotonic()
	c.close()
	s.stop()
	again := site.proven()
	r.aloneRequests = append(r.aloneRequests, done-accepting)
	r.once = append(r.once, done-s.began)
	r.twice = append(r.twice, again.at-s.began)
	r.laterOne = append(r.laterOne, again.at-again.began)
}

// proof is a start of garm alone, on a database that is initialised.
type proof struct{ began, at time.Duration }

func (s *site) proven() proof {
	g := s.alone()
	g.accepts()
	c := g.connect()
	c.prove()
	at := monotonic()
	c.close()
	g.stop()
	return proof{began: g.began, at: at}
}

// bootGuarded starts garm on a new database, and then twice on what is an old one by then.
func (b *bench) bootGuarded(r *boots) {
	site := b.newSite(b.port)
	start := func(mode string) time.Duration {
		s := site.under("GARM_FIRST_BOOT=" + mode)
		ready := s.ready()
		s.stop()
		return ready - s.began
	}
	r.guarded = append(r.guarded, start("guarded"))
	if len(r.guarded)%2 == 0 {
		r.laterAuto = append(r.laterAuto, start("auto"))
		r.laterOpen = append(r.laterOpen, start("open"))
	} else {
		r.laterOpen = append(r.laterOpen, start("open"))
		r.laterAuto = append(r.laterAuto, start("auto"))
	}
}

// ownStarts is how long our entrypoint takes until it executes garm, for which the probe stands here, for each kind of
// start.
type ownStarts struct{ old, open, guarded samples }

func (b *bench) measureOwnStarts() (r ownStarts) {
	measure := func(kind *samples, mode string, database []byte) {
		site := b.newSite(b.port)
		if err := os.WriteFile(filepath.Join(site.dir, "garm.db"), database, 0o600); err != nil {
			b.Fatal(err)
		}
		p := b.launch(how{pid1: b.pid1, env: site.environment(b.probe, "GARM_FIRST_BOOT="+mode), errors: true}, b.entrypoint, "run")
		*kind = append(*kind, p.stamp()-p.announced)
		p.expect(0)
	}
	for range b.execs {
		measure(&r.old, "auto", []byte("an old one"))
		measure(&r.open, "open", nil) // an empty one is new
		measure(&r.guarded, "guarded", nil)
	}
	return r
}

// addBoots adds what was measured.
func (b *bench) addBoots(t *table) {
	own := b.measureOwnStarts()
	addOwn := func(kind string, s samples) {
		t.add("own start until garm is executed, "+kind, s.text(), "", "", "<= 8 ms", verdict(s.median() <= 8*time.Millisecond))
	}
	addOwn("old database", own.old)
	addOwn("new database, open", own.open)
	addOwn("new database, guarded", own.guarded)
	r := b.measureBoots()
	addRatio := func(name string, own, other samples, limit float64) {
		target, judged := "", ""
		if limit > 0 {
			target = fmt.Sprintf("<= %.2f", limit)
			judged = verdict(float64(own.median()) <= limit*float64(other.median()))
		}
		t.add(name, own.text(), other.text(), ratio(own.median(), other.median()), target, judged)
	}
	addRatio("listener accepts to admin and URLs; garm alone, same requests", r.openRequests, r.aloneRequests, 1.1)
	addRatio("first boot, open, start to ready; garm alone", r.open, r.once, 0)
	addRatio("first boot, guarded; open", r.guarded, r.open, 1.6)
	addRatio("garm alone, started twice; once", r.twice, r.once, 0)
	addRatio("later start, auto; open", r.laterAuto, r.laterOpen, 1.05)
	addRatio("later start, auto; garm alone", r.laterAuto, r.laterOne, 0)
}
