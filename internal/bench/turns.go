package main

import "time"

// turns says how often and how long things are measured.
type turns struct {
	starts, signals, exits int
	orphans                []int         // how many of them at once
	reaps                  int           // how often, for each number
	execs, boots           int           // of garm
	settle, garmSettle     time.Duration // between a start and what counts as rest
	idle                   time.Duration
	watchInterval          time.Duration // of the one that looks all the time,
	looks                  int           // at least so often
	applies                int           // to an empty server
	repositories           []int         // of a provisioned server, the fewest first
}

var full = turns{
	starts: 150, signals: 2000, exits: 60, orphans: []int{5000, 20000}, reaps: 3, settle: 2 * time.Second, idle: 10 * time.Second,
	execs: 60, boots: 16, garmSettle: 10 * time.Second, watchInterval: 100 * time.Millisecond, looks: 50,
	applies: 4, repositories: []int{1, 20, 200},
}

var quick = turns{
	starts: 1, signals: 2, exits: 1, orphans: []int{10}, reaps: 1, settle: time.Millisecond, idle: 100 * time.Millisecond,
	execs: 1, boots: 1, garmSettle: time.Millisecond, watchInterval: 20 * time.Millisecond, looks: 3,
	applies: 1, repositories: []int{1, 2},
}
