package provision

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Action is what a change does.
type Action string

// Actions, as people see them.
const (
	Create Action = "+"
	Update Action = "~"
	Delete Action = "-"
)

// Change is one difference between what is declared and what the server has.
type Change struct {
	Action Action        `json:"action"`
	Object string        `json:"object"`
	Fields []FieldChange `json:"fields,omitempty"`
	// Note says what else is to be known, such as that idle runners keep the old image.
	Note string `json:"note,omitempty"`

	key    string
	target *target
	actual *Actual
}

// FieldChange is a field before and after. Of a secret nothing but that it changes is shown.
type FieldChange struct {
	Name   string `json:"name"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Secret bool   `json:"secret,omitempty"`
}

// Problem is a declared object that cannot be brought into force as it is declared.
type Problem struct {
	Object string `json:"object"`
	Place  Place  `json:"-"`
	Text   string `json:"problem"`
	Key    string `json:"-"`
	// Later: trying again may help (a forge or a dependency failed).
	Later bool `json:"later,omitempty"`
}

// PlanOptions say how differences are looked at.
type PlanOptions struct {
	// Prune deletes what is owned and no longer declared.
	Prune bool
	// KeepDrift leaves alone what was changed by hand since it was last in force.
	KeepDrift bool
}

// Plan is what has to be done, in the order of doing it.
type Plan struct {
	Changes []Change `json:"changes"`
	// Drift was changed by hand and is left alone.
	Drift []Change `json:"drift,omitempty"`
	// Problems that no request of ours cures.
	Problems []Problem `json:"problems,omitempty"`
	// Undeclared is owned, no longer declared, and not pruned.
	Undeclared []string `json:"undeclared,omitempty"`
	Unchanged  int      `json:"unchanged"`

	targets []*target
	actuals map[string]*Actual // of the targets that exist, by key
	twins   []*Actual          // of those, that are one too many
	// unsettled: a problem that another applier may be about to mend.
	unsettled bool
}

// Empty reports that there is nothing to do.
func (p *Plan) Empty() bool { return len(p.Changes) == 0 && len(p.Problems) == 0 }

// planner makes one plan.
type planner struct {
	Plan
	observed *Observed
	memory   *Memory
	options  PlanOptions
}

// NewPlan compares what is declared with what was observed. It is pure: it asks nobody and changes nothing.
func NewPlan(declared *Declared, observed *Observed, memory *Memory, options PlanOptions) *Plan {
	p := &planner{observed: observed, memory: memory, options: options}
	p.Changes, p.actuals = []Change{}, map[string]*Actual{}
	p.targets, p.Problems = resolve(declared, observed)
	unresolved := len(p.Problems) > 0
	twice := map[*target]bool{}
	for _, d := range doubles(p.targets, func(t *target) []string { return slices.DeleteFunc([]string{t.Key}, isEmpty) }) {
		twice[d.target] = true
		p.problem(d.target, "", fmt.Sprintf("it is declared twice: also at %s", d.first.Place), false)
	}
	for _, t := range p.targets {
		if twice[t] {
			continue
		}
		if t.Key != "" {
			p.target(t)
		} else if t.parent != nil {
			p.problem(t, "", "its "+t.parent.Kind.Name+" cannot be told from others", false)
		}
	}
	// Whose identity is not known may be the very thing that would be deleted.
	var gone []*Actual
	if !unresolved {
		gone = p.undeclared()
	}
	for _, a := range p.twins {
		p.Changes = append(p.Changes, Change{Action: Delete, Object: a.Label(), Note: "it was created twice: " + a.ID + " goes", key: twinKey(a), actual: a})
	}
	for _, a := range gone {
		if options.Prune {
			p.Changes = append(p.Changes, Change{Action: Delete, Object: a.Label(), key: a.Key, actual: a})
		} else {
			p.Undeclared = append(p.Undeclared, a.Label())
		}
	}
	return &p.Plan
}

func isEmpty(s string) bool { return s == "" }

func (p *planner) problem(t *target, field, text string, later bool) {
	p.Problems = append(p.Problems, Problem{Object: t.Label(), Place: t.placeOf(field), Text: text, Key: t.Key, Later: later})
}

// target compares one declared object.
func (p *planner) target(t *target) {
	if t.Kind.forge != "" && t.Forge != t.Kind.forge {
		p.problem(t, "", fmt.Sprintf("%s has no %s", t.Forge, t.Kind.Name), false)
		return
	}
	if p.observed.lacking(t.Kind, t.Forge) {
		p.lacked(t)
		return
	}
	a, later, err := p.find(t)
	if err != nil {
		p.unsettled = p.unsettled || later
		p.problem(t, "", err.Error(), later)
		return
	}
	if a == nil {
		p.missing(t)
		return
	}
	p.actuals[t.Key] = a
	if t.Kind.refuse != nil {
		if why := t.Kind.refuse(t, a); why != "" {
			p.problem(t, "", why, false)
			return
		}
	}
	faults := len(p.Problems)
	fields := p.fields(t, a)
	drifted, wanted := p.split(t, fields)
	change := Change{Action: Update, Object: t.Label(), key: t.Key, target: t, actual: a}
	if len(drifted) > 0 {
		drift := change
		drift.Fields = drifted
		p.Drift = append(p.Drift, drift)
	}
	if now := p.memory.secretOf(t); now != "" && now != p.memory.Objects[t.Key].Secret {
		wanted = append(wanted, FieldChange{Name: secretName(t), Secret: true})
	}
	if len(wanted) == 0 {
		if len(p.Problems) == faults {
			p.Unchanged++
		}
		return
	}
	change.Fields = wanted
	if t.Kind.note != nil {
		change.Note = t.Kind.note(t, wanted)
	}
	p.Changes = append(p.Changes, change)
}

// lacked: this server's version cannot write the object. It may have it all the same, from its config.toml.
func (p *planner) lacked(t *target) {
	a, _, _ := p.find(t)
	if a == nil {
		p.problem(t, "", fmt.Sprintf("this garm (%s) has no %s%s", orUnknown(p.observed.Version), forgeWord(t), t.Kind.Name), false)
		return
	}
	p.actuals[t.Key] = a
	var differ []string
	for _, f := range t.Kind.Fields {
		want, declared := t.Values[f.Name]
		said := f.Fixed == "" || pick(a.raw, f.seen()) != nil // what it belongs to was no question yet
		if declared && f.compared() && said && !f.Type.same(want, a.Values[f.Name]) {
			differ = append(differ, f.Name)
		}
	}
	if len(differ) > 0 {
		p.problem(t, differ[0], fmt.Sprintf("this garm (%s) has it from its config.toml and cannot change %s", orUnknown(p.observed.Version), strings.Join(differ, ", ")), false)
		return
	}
	p.Unchanged++
}

// forgeWord tells a forge apart where only one of them is lacking.
func forgeWord(t *target) string {
	if t.Forge == gitea {
		return "gitea "
	}
	return ""
}

func orUnknown(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}

// missing plans a creation, or reports that somebody deleted what was in force.
func (p *planner) missing(t *target) {
	change := Change{Action: Create, Object: t.Label(), key: t.Key, target: t}
	for _, f := range t.Kind.Fields {
		if v, declared := t.Values[f.Name]; declared && !f.Ours {
			change.Fields = append(change.Fields, FieldChange{Name: f.Name, To: f.shown(v)})
		}
	}
	if t.Kind.secret != nil && t.Kind.secret(t) != nil {
		change.Fields = append(change.Fields, FieldChange{Name: secretName(t), Secret: true})
	}
	if _, owned := p.memory.Objects[t.Key]; owned && p.options.KeepDrift && !t.Kind.Derived && p.unaltered(t) {
		change.Note = "it was deleted by hand"
		p.Drift = append(p.Drift, change)
		return
	}
	p.Changes = append(p.Changes, change)
}

// unaltered reports whether a declaration is still the one that was last in force.
func (p *planner) unaltered(t *target) bool {
	last := p.memory.Objects[t.Key].Fields
	for name, value := range t.Values {
		if f, _ := t.Kind.field(name); f.compared() && last[name] != p.memory.fingerprint(t.Key, name, f.Type.normal(value)) {
			return false
		}
	}
	return true
}

// find returns the server's object for a declared one: the one of its id, else of its key; nil: there is none. later:
// the error may go away by itself.
func (p *planner) find(t *target) (a *Actual, later bool, err error) {
	if t.ID != "" {
		if a := p.observed.byID[idKey(t.Kind, t.ID)]; a != nil {
			if t.parent != nil && a.ParentKey != t.parent.Key {
				return nil, false, fmt.Errorf("the server's %s %s belongs to another entity: %s", t.Kind.Name, t.ID, a.Label())
			}
			return a, false, nil
		}
	}
	switch same := p.observed.byKey[t.Key]; {
	case len(same) == 1:
		return same[0], false, nil
	case len(same) > 1:
		keep, others, twins := oldest(same)
		if twins && p.memory.Objects[t.Key].Sent != "" {
			p.twins = append(p.twins, others...)
			return keep, false, nil
		}
		var ids []string
		for _, a := range same {
			ids = append(ids, a.ID)
		}
		return nil, twins, fmt.Errorf("the server has %d of that name: %s; add id = \"…\" to say which", len(same), strings.Join(ids, ", "))
	}
	return nil, false, nil
}

// fields lists what differs and can be changed; what cannot is a problem.
func (p *planner) fields(t *target, a *Actual) []FieldChange {
	var all []FieldChange
	var unkept []string
	for _, f := range t.Kind.Fields {
		want, declared := t.Values[f.Name]
		if !declared || !f.compared() {
			continue
		}
		if f.Forge != "" && t.Forge != f.Forge {
			p.problem(t, f.Name, fmt.Sprintf("%s has no %s", t.Forge, f.Name), false)
			continue
		}
		have := a.Values[f.Name]
		if f.Deep && a.unread {
			if p.memory.Objects[t.Key].Fields[f.Name] == p.memory.fingerprint(t.Key, f.Name, f.Type.normal(want)) {
				continue
			}
			have = f.Type.zero()
		}
		if f.Type.same(want, have) {
			continue
		}
		if why := frozen(f, a); why != "" {
			p.problem(t, f.Name, fmt.Sprintf("%s is %s on the server, not %s: %s", f.Name, f.shown(have), f.shown(want), why), false)
			continue
		}
		if p.memory.Objects[t.Key].Unkept[f.Name] == p.memory.unkeptOf(t.Key, f, want, p.observed.Version) {
			unkept = append(unkept, f.Name)
			continue
		}
		all = append(all, FieldChange{Name: f.Name, From: f.shown(have), To: f.shown(want)})
	}
	if len(unkept) > 0 {
		p.problem(t, unkept[0], notKept(p.observed.Version, unkept), false)
	}
	if t.Kind.adjust != nil {
		all = t.Kind.adjust(t, a, all)
	}
	return all
}

// frozen says why the server cannot change a field, and what to do instead.
func frozen(f Field, a *Actual) string {
	if f.Fixed == "" && a.Kind.frozen != nil {
		return a.Kind.frozen(f, a)
	}
	return f.Fixed
}

// shown is a value for people.
func (f Field) shown(v any) string {
	if f.Type == File {
		return fmt.Sprintf("%d bytes", len(v.(string)))
	}
	return f.Type.text(v)
}

// split tells what was changed by hand from what the files want changed.
func (p *planner) split(t *target, fields []FieldChange) (drifted, wanted []FieldChange) {
	last := p.memory.Objects[t.Key].Fields
	for _, c := range fields {
		f, _ := t.Kind.field(c.Name)
		declared, ok := t.Values[c.Name]
		if ok && p.options.KeepDrift && last[c.Name] == p.memory.fingerprint(t.Key, c.Name, f.Type.normal(declared)) {
			drifted = append(drifted, c)
		} else {
			wanted = append(wanted, c)
		}
	}
	return drifted, wanted
}

// undeclared is what is owned and no longer declared, last kinds first.
func (p *planner) undeclared() (gone []*Actual) {
	declared := map[string]bool{}
	for _, t := range p.targets {
		declared[t.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(p.memory.Objects)) {
		same := p.observed.byKey[key]
		if declared[key] || len(same) == 0 || same[0].Kind.builtin != nil && same[0].Kind.builtin(same[0]) {
			continue
		}
		a := same[0]
		if remembered := p.observed.byID[idKey(a.Kind, p.memory.Objects[key].ID)]; remembered != nil {
			a = remembered
		}
		if !p.adopted(a) {
			gone = append(gone, a)
		}
		if _, _, twins := oldest(same); twins && p.memory.Objects[key].Sent != "" {
			p.twins = append(p.twins, slices.DeleteFunc(slices.Clone(same), func(b *Actual) bool { return b == a })...)
		}
	}
	slices.SortStableFunc(gone, func(a, b *Actual) int { return b.Kind.rank() - a.Kind.rank() })
	return gone
}

// adopted reports whether a declared object is this one, under another name.
func (p *planner) adopted(a *Actual) bool {
	for _, declared := range p.actuals {
		if declared == a {
			return true
		}
	}
	return false
}

// secretName is what a change of the object's secrets is called: the fields that were declared.
func secretName(t *target) string {
	var names []string
	for _, f := range t.Kind.Fields {
		if _, declared := t.secrets[f.Name]; declared {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}
