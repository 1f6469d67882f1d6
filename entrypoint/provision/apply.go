package provision

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// Applier brings a server to what is declared. It is not safe for concurrent use; several processes may apply at
// once to one server: they converge.
type Applier struct {
	// API asks the server.
	API API
	// Memory of the server; it is changed in place.
	Memory *Memory
	// Keep makes the memory durable; nil: it is lost with the process. Its error does not stop anything.
	Keep func(*Memory) error
	// Options of the comparison.
	Options PlanOptions
	// Timeout of one request; 0: garmapi's.
	Timeout time.Duration
	// OnChange is called for each change that was tried, with what came of it; nil: nobody. done counts from 1.
	OnChange func(c Change, err error, done, all int)
	// OnKeepError is called when the memory could not be kept, once until it could be again or the cause is another; nil:
	// nobody.
	OnKeepError func(error)

	// slow are the endpoints whose forges did not answer the last time: they come after the others.
	slow   []string
	kept   time.Time
	unkept string // the cause that was said
}

// Result of Apply.
type Result struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Deleted   int `json:"deleted"`
	Unchanged int `json:"unchanged"`
	Failed    int `json:"failed"`
	// Problems are what is not in force, one for each object.
	Problems []Problem `json:"problems,omitempty"`
	// Drift was changed by hand and left alone; Undeclared is owned, no longer declared and not pruned.
	Drift      []Change `json:"drift,omitempty"`
	Undeclared []string `json:"undeclared,omitempty"`
	// Changes that were made.
	Changes []Change      `json:"changes"`
	Took    time.Duration `json:"-"`
	// Objects declared, by kind, and those of them that are in force.
	Declared map[string]int `json:"-"`
	InForce  map[string]int `json:"-"`
}

// Provisioned reports that the server was read back and nothing differs.
func (r *Result) Provisioned() bool { return len(r.Problems) == 0 }

// Later reports that trying again may help.
func (r *Result) Later() bool {
	for _, p := range r.Problems {
		if p.Later {
			return true
		}
	}
	return false
}

// maxPasses bounds how often a server is read and written to before what still differs is given up. One pass is the
// rule, a second proves it; a third is for what garm takes only after its creation.
const maxPasses = 5

// Apply reads the server, sends one request for each difference, and reads again, until nothing differs or what is
// left has failed. The error is for a server that could not be read; what could not be applied is in the result.
func (a *Applier) Apply(ctx context.Context, declared *Declared) (*Result, error) {
	if missing := declared.Incomplete(); len(missing) > 0 {
		return nil, fmt.Errorf("cannot apply what is not complete: %s", strings.Join(missing, "; "))
	}
	start := time.Now()
	run := &applying{Applier: a, declared: declared, failed: map[string]Problem{}, waiting: map[string]Problem{}, after: map[string]Problem{},
		tried: map[string]int{}, intended: map[string]bool{}}
	err := run.passes(ctx)
	a.slow = run.silence.forges
	a.keep(true)
	run.result.Took = time.Since(start)
	return &run.result, err
}

// applying is one Apply.
type applying struct {
	*Applier
	declared *Declared
	result   Result
	// failed are changes that are not tried again, waiting those that are tried once what they need is there; after is
	// what went wrong beside any change. By key.
	failed, waiting, after map[string]Problem
	// tried counts the writes of the same difference: what comes back twice is not kept by the server.
	tried   map[string]int
	silence silence
	// intended are the creations that this Apply noted before it sent them.
	intended map[string]bool
}

func (r *applying) passes(ctx context.Context) error {
	for n := 0; ; n++ {
		observed, err := Observe(ctx, r.API, r.declared, r.Memory)
		if err != nil {
			return err
		}
		plan := NewPlan(r.declared, observed, r.Memory, r.Options)
		x := r.execution(ctx, observed, plan)
		r.settle(plan, x)
		if n == maxPasses || !r.pass(plan, x) && !(plan.unsettled && pauseBefore(ctx, n)) {
			r.conclude(plan)
			return ctx.Err()
		}
	}
}

// unsettledPause grows with each pass: what several appliers do at once they are done with in a second or two.
const unsettledPause = 200 * time.Millisecond

// pauseBefore waits before the next pass, false when ctx ends.
func pauseBefore(ctx context.Context, pass int) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(unsettledPause << pass):
		return true
	}
}

func (r *applying) execution(ctx context.Context, observed *Observed, plan *Plan) *execution {
	x := &execution{ctx: ctx, api: r.API, memory: r.Memory, observed: observed, timeout: r.Timeout, actuals: plan.actuals,
		failed: map[string]error{}, silence: &r.silence, gone: map[string]bool{}, declared: map[string]*target{}}
	for _, t := range plan.targets {
		x.declared[t.Key] = t
	}
	for _, p := range plan.Problems {
		x.failed[p.Key] = errors.New(p.Text)
	}
	return x
}

// settle notes what of the declared objects is in force, and does what they ask for beyond that.
func (r *applying) settle(plan *Plan, x *execution) {
	pending, drifted := map[string]bool{}, map[string]bool{}
	for _, c := range plan.Changes {
		pending[c.key] = true
	}
	for _, c := range plan.Drift {
		drifted[c.key] = true
	}
	clear(r.after)
	for _, t := range plan.targets {
		actual := plan.actuals[t.Key]
		if actual == nil || pending[t.Key] || t.Kind.Derived {
			continue
		}
		stamp := actual.stamp
		if drifted[t.Key] {
			stamp = r.Memory.Objects[t.Key].Stamp // what was changed by hand is looked at again
		}
		r.Memory.remember(t, actual, stamp, len(x.observed.byKey[t.Key]) == 1)
		if t.Kind.after != nil {
			if err := t.Kind.after(x, t, actual); err != nil {
				r.after[t.Key] = problemOf(t.Label(), t.Place, t.Key, err)
			}
		}
	}
	r.forgetGone(plan, x.observed)
	r.keep(false)
}

// forgetGone forgets what is neither declared nor on the server: what somebody creates under that key later is not ours.
func (r *applying) forgetGone(plan *Plan, observed *Observed) {
	declared := map[string]bool{}
	for _, t := range plan.targets {
		declared[t.Key] = true
	}
	for key, known := range r.Memory.Objects {
		entity, isHook := strings.CutSuffix(key, webhookSuffix)
		if !declared[key] && known.Sent != sentOff && len(observed.byKey[key]) == 0 && !(isHook && len(observed.byKey[entity]) > 0) {
			r.Memory.forget(key)
		}
	}
}

// pass tries each change that has not failed before, and reports whether another look is due: something was made, or
// somebody else was faster.
func (r *applying) pass(plan *Plan, x *execution) bool {
	again := false
	r.intend(plan)
	slices.SortStableFunc(plan.Changes, func(a, b Change) int { return r.slowness(a) - r.slowness(b) })
	for n, c := range plan.Changes {
		if p, failed := r.failed[c.key]; failed {
			x.failed[c.key] = errors.New(p.Text)
			continue
		}
		if x.ctx.Err() != nil {
			return false
		}
		err := r.try(x, c)
		r.note(c, err)
		if err == nil {
			again = true
			r.count(c)
		} else if x.failed[c.key] = err; r.overtaken(c, err) {
			again = true
			continue
		} else if !r.news(c, err) {
			continue
		}
		if r.OnChange != nil {
			r.OnChange(c, err, n+1, len(plan.Changes))
		}
		r.keep(false)
	}
	return again
}

// slowness orders changes: those at a forge that was silent the last time after those at others, deletions last. What an
// object needs is of its own forge, so it still comes before it.
func (r *applying) slowness(c Change) int {
	switch {
	case c.Action == Delete:
		return 2
	case slices.Contains(r.slow, c.target.Endpoint):
		return 1
	}
	return 0
}

// intend makes durable which objects are about to be created.
func (r *applying) intend(plan *Plan) {
	noted := false
	for _, c := range plan.Changes {
		if _, failed := r.failed[c.key]; c.creates() && !failed && r.Memory.intend(c.key) {
			r.intended[c.key], noted = true, true
		}
	}
	if noted {
		r.keep(true)
	}
}

// creates reports a creation that the memory notes before it is sent.
func (c Change) creates() bool { return c.Action == Create && !c.target.Kind.Derived }

// note what became of such a creation: carried out, refused, or nobody knows. What an earlier process sent and nobody
// answered stays noted.
func (r *applying) note(c Change, err error) {
	var unanswered *garmapi.RequestError
	switch {
	case !c.creates() || !r.intended[c.key] || errors.As(err, &unanswered):
	case err == nil:
		r.Memory.answered(c.key)
	default:
		r.Memory.refrain(c.key)
		delete(r.intended, c.key)
	}
}

// overtaken reports, once for each object, that another applier may have created it since we looked: garm says 409, and
// 400 where it is the forge that refuses a name that it has, as of a scale set (v0.2.1).
func (r *applying) overtaken(c Change, err error) bool {
	refused, garm := garmapi.FromGarm(err)
	if c.Action != Create || !garm || refused.Code != http.StatusConflict && refused.Code != http.StatusBadRequest {
		return false
	}
	first := "overtaken " + c.key
	r.tried[first]++
	return r.tried[first] == 1
}

// news keeps a failure, and reports whether it is one that was not said before.
func (r *applying) news(c Change, err error) bool {
	p := r.problem(c, err)
	var waits *errWaits
	if !errors.As(err, &waits) {
		r.failed[c.key] = p
		return true
	}
	_, said := r.waiting[c.key]
	r.waiting[c.key] = p
	return !said
}

// try carries out a change, unless the server said yes to it twice and did not keep it.
func (r *applying) try(x *execution, c Change) error {
	data, _ := json.Marshal([]any{c.key, c.Action, c.Fields})
	same := string(data)
	if r.tried[same] == 2 {
		if c.Action == Update {
			r.Memory.unkept(c.target, c.Fields, x.observed.Version)
		}
		return &errNotKept{c, x.observed.Version}
	}
	err := x.change(c)
	if err == nil {
		r.tried[same]++
	}
	return err
}

// errNotKept: the server said yes twice, and nothing changed.
type errNotKept struct {
	change  Change
	version string
}

func (e *errNotKept) Error() string {
	var names []string
	for _, f := range e.change.Fields {
		names = append(names, f.Name)
	}
	return notKept(e.version, names)
}

func notKept(version string, fields []string) string {
	text := "this garm (" + orUnknown(version) + ") accepts it and does not keep it"
	if len(fields) > 0 {
		text += ": " + strings.Join(fields, ", ")
	}
	return text
}

func (r *applying) count(c Change) {
	r.result.Changes = append(r.result.Changes, c)
	switch c.Action {
	case Create:
		r.result.Created++
	case Update:
		r.result.Updated++
	case Delete:
		r.result.Deleted++
	}
}

func (r *applying) problem(c Change, err error) Problem {
	place := Place{}
	if c.target != nil {
		place = c.target.Place
	}
	return problemOf(c.Object, place, c.key, err)
}

// problemOf says whether trying again may help: not when garm refused what was asked for (400), or lacks it.
func problemOf(object string, place Place, key string, err error) Problem {
	p := Problem{Object: object, Place: place, Key: key, Text: err.Error(), Later: true}
	var notKept *errNotKept
	if refused, garm := garmapi.FromGarm(err); garm && refused.Code == 400 || errors.As(err, &notKept) {
		p.Later = false
	}
	if timedOut(err) {
		p.Text = "no answer in time; it is looked for before it is tried again: " + p.Text
	}
	return p
}

// conclude turns what is left into the result.
func (r *applying) conclude(plan *Plan) {
	r.result.Unchanged = plan.Unchanged
	r.result.Drift, r.result.Undeclared = plan.Drift, plan.Undeclared
	r.result.Problems = append(r.result.Problems, plan.Problems...)
	for _, c := range plan.Changes {
		p, failed := r.failed[c.key]
		if !failed {
			p, failed = r.waiting[c.key]
		}
		if !failed {
			p = Problem{Object: c.Object, Key: c.key, Text: "it still differs", Later: true}
		}
		r.result.Problems = append(r.result.Problems, p)
	}
	for _, t := range plan.targets {
		if p, failed := r.after[t.Key]; failed {
			r.result.Problems = append(r.result.Problems, p)
		}
	}
	r.result.Failed = len(r.result.Problems)
	r.result.Declared, r.result.InForce = map[string]int{}, map[string]int{}
	bad := map[string]bool{}
	for _, p := range r.result.Problems {
		bad[p.Key] = true
	}
	for _, t := range plan.targets {
		r.result.Declared[t.Kind.Name]++
		if plan.actuals[t.Key] != nil && !bad[t.Key] {
			r.result.InForce[t.Kind.Name]++
		}
	}
}

// keepEvery bounds how much of what was sent is forgotten by a process that is killed, and the price of remembering.
const keepEvery = time.Second

// keep makes the memory durable, if it changed; not more than once a second while objects are written.
func (a *Applier) keep(now bool) {
	if a.Keep == nil || !a.Memory.changed || !now && time.Since(a.kept) < keepEvery {
		return
	}
	a.kept = time.Now()
	if err := a.Keep(a.Memory); err != nil {
		if said := a.unkept; a.OnKeepError != nil && said != err.Error() {
			a.unkept = err.Error()
			a.OnKeepError(fmt.Errorf("cannot keep what is in force: %w", err))
		}
		return
	}
	a.Memory.changed, a.unkept = false, ""
}

// exact decodes an answer again, with numbers as they stand.
func exact(answer map[string]any) map[string]any {
	data, err := json.Marshal(answer)
	if err != nil {
		return answer
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var raw map[string]any
	if decoder.Decode(&raw) != nil {
		return answer
	}
	return raw
}

func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}
