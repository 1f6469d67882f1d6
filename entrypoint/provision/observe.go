package provision

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// API asks a garm server, logged in. A garmapi.Session is one.
type API interface {
	Do(ctx context.Context, r garmapi.Request) error
}

// Actual is an object that the server has.
type Actual struct {
	Kind *Kind
	// Key is its identity as a declaration would have it, ID the server's own.
	Key, ID, Name string
	// Forge and Endpoint that it belongs to; ParentKey of its entity.
	Forge, Endpoint, ParentKey string
	// Values of all fields that the server shows, by their names in files.
	Values map[string]any

	raw      map[string]any
	parent   *Actual
	observed *Observed
	// auth is the kind of login of credentials. stamp is when the server last changed the object; unread: not since it
	// was last in force, so what lists leave out was not asked for.
	auth, stamp string
	unread      bool
}

// Label names it as a declared one would be.
func (a *Actual) Label() string {
	label := a.Kind.Name
	if a.Name != "" {
		label += " " + a.Name
	}
	if a.parent != nil {
		label = fmt.Sprintf("%s of %s", label, a.parent.Label())
	}
	return label
}

// Observed is what the server has.
type Observed struct {
	// ControllerID is the server's identity, Version what it states; WebhookURL is where it takes webhooks.
	ControllerID, Version, WebhookURL string

	all   []*Actual
	byKey map[string][]*Actual
	byID  map[string]*Actual // by kind and id
	lacks []lack
	// templates are the names of all, those of the system too, by their ids.
	templates map[string]string
	// instances of all pools and scale sets, where somebody needs them; else nil.
	instances []instance
}

// lack is what this server's version does not have: a kind of object, of one forge or of both.
type lack struct {
	kind  *Kind
	forge string
}

// Count returns how many objects of a kind the server has.
func (o *Observed) Count(k *Kind) int {
	n := 0
	for _, a := range o.all {
		if a.Kind == k {
			n++
		}
	}
	return n
}

func (o *Observed) lacking(k *Kind, forge string) bool {
	for _, l := range o.lacks {
		if l.kind == k && (l.forge == "" || l.forge == forge) {
			return true
		}
	}
	return false
}

// add indexes an object.
func (o *Observed) add(a *Actual) {
	o.all = append(o.all, a)
	o.byKey[a.Key] = append(o.byKey[a.Key], a)
	o.byID[idKey(a.Kind, a.ID)] = a
}

func idKey(k *Kind, id string) string { return k.Name + " " + id }

// Limits of one request. Lists cost garm 40 ms for 400 pools (v0.2.1); a creation may have to wait for a forge, which
// garm itself does for minutes.
const (
	listTimeout  = 30 * time.Second
	forgeTimeout = 15 * time.Second
)

// Observe reads the server: one request for each list, whatever it holds, and what declared and memory leave open:
// whether a webhook that nothing is remembered of is installed, what a template holds that was changed since.
func Observe(ctx context.Context, api API, declared *Declared, memory *Memory) (*Observed, error) {
	o, err := observeLists(ctx, api)
	if err != nil {
		return nil, err
	}
	memory.belongTo(o.ControllerID)
	if err := o.readDeep(ctx, api, declared, memory); err != nil {
		return nil, err
	}
	o.webhooks(ctx, api, declared, memory)
	return o, o.runners(ctx, api, declared)
}

// observeLists reads all lists, and nothing that they leave out.
func observeLists(ctx context.Context, api API) (*Observed, error) {
	o := &Observed{byKey: map[string][]*Actual{}, byID: map[string]*Actual{}, templates: map[string]string{}}
	for _, k := range Kinds {
		for _, l := range k.lists {
			if err := o.list(ctx, api, k, l); err != nil {
				return nil, err
			}
		}
	}
	for _, a := range o.all {
		if a.Kind.link != nil {
			a.Kind.link(a)
		}
	}
	return o, nil
}

// readDeep reads those objects of which a declaration says what lists leave out, and which were changed since they
// were last in force: a constant number while nobody changes them.
func (o *Observed) readDeep(ctx context.Context, api API, declared *Declared, memory *Memory) error {
	targets, _ := resolve(declared, o)
	for _, t := range targets {
		if !t.saysDeep() {
			continue
		}
		candidates := o.byKey[t.Key]
		if adopted := o.byID[idKey(t.Kind, t.ID)]; adopted != nil {
			candidates = []*Actual{adopted}
		}
		for _, a := range candidates {
			if r, known := memory.Objects[t.Key]; known && r.ID == a.ID && r.Stamp != "" && r.Stamp == a.stamp {
				a.unread = true
			} else if err := a.read(ctx, api); err != nil {
				return err
			}
		}
	}
	return nil
}

// saysDeep reports whether a declaration says something that lists leave out.
func (t *target) saysDeep() bool {
	for _, f := range t.Kind.Fields {
		if _, declared := t.Values[f.Name]; declared && f.Deep {
			return true
		}
	}
	return false
}

// read asks for the object itself.
func (a *Actual) read(ctx context.Context, api API) error {
	var answer json.RawMessage
	err := api.Do(ctx, garmapi.Request{Op: "read " + a.Label(), Method: http.MethodGet, Path: a.Kind.member(a), Into: &answer, Timeout: listTimeout})
	var rows []map[string]any
	if err == nil {
		rows, err = rowsOf(answer)
	}
	if err != nil || len(rows) != 1 {
		return fmt.Errorf("cannot read what the server has: %w", err)
	}
	for _, f := range a.Kind.Fields {
		if f.Deep {
			a.Values[f.Name] = f.observed(rows[0])
		}
	}
	return nil
}

// list asks for one list. A server that does not know the path lacks the kind, or shows it elsewhere and cannot change it.
func (o *Observed) list(ctx context.Context, api API, k *Kind, l listing) error {
	var answer json.RawMessage
	r := garmapi.Request{Op: "list " + k.Name, Method: http.MethodGet, Path: l.path, Into: &answer, Timeout: listTimeout}
	err := api.Do(ctx, r)
	if garmapi.NotRouted(err) {
		o.lacks = append(o.lacks, lack{k, l.forge})
		if l.older == "" {
			return nil
		}
		r.Path = l.older
		if err = api.Do(ctx, r); garmapi.NotRouted(err) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("cannot list what the server has: %w", err)
	}
	rows, err := rowsOf(answer)
	if err != nil {
		return fmt.Errorf("cannot list what the server has: %s: %w", l.path, err)
	}
	for _, raw := range rows {
		if a := o.actual(k, l, raw); a != nil {
			o.add(a)
		}
	}
	return nil
}

// rowsOf decodes a list, an empty one of which may be null, or a single object. Numbers stay exact.
func rowsOf(answer json.RawMessage) ([]map[string]any, error) {
	var rows []map[string]any
	if len(answer) > 0 && answer[0] == '{' {
		answer = append(append(json.RawMessage{'['}, answer...), ']')
	}
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(&rows); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return rows, nil
}

// actual makes an object of an answer; nil: it is none of those that can be declared.
func (o *Observed) actual(k *Kind, l listing, raw map[string]any) *Actual {
	a := &Actual{Kind: k, Forge: l.forge, Values: map[string]any{}, raw: raw, observed: o, stamp: pickText(raw, "updated_at")}
	if k.identify(a, raw); a.Key == "" {
		return nil
	}
	for _, f := range k.Fields {
		if f.compared() && !f.Deep {
			a.Values[f.Name] = f.observed(raw)
		}
	}
	return a
}

// observed converts what an answer says of the field.
func (f Field) observed(raw map[string]any) any {
	v := pick(raw, f.seen())
	if f.Type == File {
		return decodeBase64(v)
	}
	return f.Type.observedValue(v)
}

// CredentialsNames are the names of GitHub's credentials on the server.
func CredentialsNames(ctx context.Context, api API) ([]string, error) {
	var rows []struct{ Name string }
	err := api.Do(ctx, garmapi.Request{Op: "list credentials", Method: http.MethodGet, Path: "/github/credentials", Into: &rows, Timeout: listTimeout})
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	return names, err
}
