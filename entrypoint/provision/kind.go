package provision

import (
	"slices"
	"strings"
)

// Kind is a kind of object that can be declared. Kinds lists them all, in the order in which they are applied;
// deletions go the other way round.
type Kind struct {
	// Name of its table in files, and of the object in messages.
	Name string
	// In names the kinds whose tables it stands in; empty: it stands at the top.
	In []string
	// Single: one table, not an array of them.
	Single bool
	// Keyless: the server has no key for its objects, so what is created twice is there twice.
	Keyless bool
	// AsksForge: garm asks the forge, or waits for whoever does, before it answers a write.
	AsksForge bool
	// Derived objects stand in no table of their own: another kind's declaration makes them.
	Derived bool
	// Fields that can be declared.
	Fields []Field
	// Help is one line for the reference.
	Help string

	// lists are the requests that observe all objects of the kind.
	lists []listing
	// named gives an object its name and checks what more than one field has to do with. It is called once the
	// fields are read.
	named func(d *declarer, o *Object, t table)
	// key is the identity of a declared object; what it belongs to is resolved by then.
	key func(t *target) string
	// identify fills in what tells one observed object from another.
	identify func(a *Actual, raw map[string]any)
	// needs are the keys of what has to exist first.
	needs func(t *target) []string
	// within is the path that an object is created at.
	within func(x *execution, t *target) (string, error)
	// member is the path of an existing object, relative to /api/v1.
	member func(a *Actual) string
	// complete adds to the body of a creation or an update what is no field of its own. actual is nil at a creation.
	complete func(x *execution, t *target, actual *Actual, body map[string]any) error
	// secret is what garm is sent of the object's secrets, nil: it has none. It is compared by its fingerprint.
	secret func(t *target) map[string]any
	// Instead of one request: what creates, and what deletes it. done is false when it has to be gone on with later.
	create func(x *execution, t *target) (id string, err error)
	delete func(x *execution, a *Actual) (done bool, err error)
	// after is called for each declared object that exists, once nothing differs: what it does is no difference.
	after func(x *execution, t *target, a *Actual) error
	// frozen says why the server cannot change a field of an object now, and what to do instead; "": it can.
	frozen func(f Field, a *Actual) string
	// refuse says why a declared object cannot be made of the server's, and what to do instead; "": it can.
	refuse func(t *target, a *Actual) string
	// adjust corrects what differs where fields alone do not tell.
	adjust func(t *target, a *Actual, fields []FieldChange) []FieldChange
	// note says what a change does not do by itself; "": nothing.
	note func(t *target, fields []FieldChange) string
	// forge that knows the kind; empty: both.
	forge string
	// link fills in values that other lists hold; nil: there are none.
	link func(a *Actual)
	// export adds to a printed object what no field of the server's says; nil: there is no more.
	export func(e *exporter, p *printed, a *Actual)
	// untouched: an object that every server has by itself, as it is; nil: there are none.
	untouched func(a *Actual) bool
	// builtin: objects that are the server's own and can be neither created nor deleted nor owned.
	builtin func(a *Actual) bool
}

// listing is a request that lists objects.
type listing struct {
	path  string // below /api/v1
	forge string // of what it lists, empty: each says it itself
	older string // where a garm that does not know path shows what it has and cannot change; empty: nowhere
}

// Field is a key of a kind's table.
type Field struct {
	// Name in files: garm's JSON name, but for files and secrets and where garm has two.
	Name string
	Type Type
	// Wire is garm's JSON name in a request, Seen in an answer, with dots for objects in objects. Empty: as Name.
	Wire, Seen string
	// Required: a declaration without it is a fault. RequiredNew: not where an existing object is adopted by its id.
	Required, RequiredNew bool
	// Default is sent at a creation when the field is left out; nil: nothing is.
	Default any
	// Fixed says what to do instead, when the server cannot change the field; empty: it can.
	Fixed string
	// Forge that knows the field; empty: both.
	Forge string
	// Choices are the values that garm takes; nil: any.
	Choices []string
	// Valid checks the value; nil: anything goes. It says what is wrong.
	Valid func(value any) error
	// Ours: no field of garm's.
	Ours bool
	// Unseen: garm does not return it, so it is only sent at a creation.
	Unseen bool
	// Deep: lists leave it out, so it is read from the object itself, when that was changed since it was last in force.
	Deep bool
	// Help is one line for the reference.
	Help string
}

func (f Field) wire() string {
	if f.Wire != "" {
		return f.Wire
	}
	return f.Name
}

func (f Field) seen() string {
	if f.Seen != "" {
		return f.Seen
	}
	return f.wire()
}

// compared reports whether the field is something that the server holds and shows.
func (f Field) compared() bool { return !f.Ours && !f.Unseen && f.Type != Secret }

// Kinds of objects, in the order in which they are applied.
var Kinds = []*Kind{controllerKind, endpointKind, credentialsKind, templateKind, repositoryKind, organizationKind, enterpriseKind, webhookKind, poolKind, scaleSetKind}

// kindNamed returns a kind by the name of its table.
func kindNamed(name string) *Kind {
	for _, k := range Kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// nested are the kinds whose tables stand in those of k.
func (k *Kind) nested() []*Kind {
	var all []*Kind
	for _, inner := range Kinds {
		if slices.Contains(inner.In, k.Name) && !inner.Derived {
			all = append(all, inner)
		}
	}
	return all
}

func (k *Kind) field(name string) (Field, bool) {
	for _, f := range k.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// deep reports whether lists leave something of the object out.
func (k *Kind) deep() bool {
	return slices.ContainsFunc(k.Fields, func(f Field) bool { return f.Deep })
}

// rank is the kind's place in the order.
func (k *Kind) rank() int { return slices.Index(Kinds, k) }

// pick returns what stands at a dotted path in an answer.
func pick(raw map[string]any, path string) any {
	head, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return raw[head]
	}
	inner, _ := raw[head].(map[string]any)
	return pick(inner, rest)
}

func pickText(raw map[string]any, path string) string {
	return Text.observedValue(pick(raw, path)).(string)
}
