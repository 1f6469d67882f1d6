package provision

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// execution carries out one plan, change by change.
type execution struct {
	ctx      context.Context
	api      API
	memory   *Memory
	observed *Observed
	timeout  time.Duration
	// actuals are what exists by now of what is declared, by key.
	actuals map[string]*Actual
	// failed: why an object is not in force; whatever needs it waits.
	failed map[string]error
	// silence of forges: what needs one of those is not asked for in this Apply.
	silence *silence
	// gone: deletions that were done, by kind and id.
	gone map[string]bool
	// declared are all objects whose declaration is in the plan, by key.
	declared map[string]*target
}

// errWaits is why an object was not tried: what it needs is not there.
type errWaits struct{ what string }

func (e *errWaits) Error() string { return "it waits for " + e.what }

// errDraining: a pool has runners that must not be removed yet.
type errDraining struct{ text string }

func (e *errDraining) Error() string { return e.text }

// do sends a request, bounded in time.
func (x *execution) do(r garmapi.Request) error {
	if r.Timeout == 0 {
		r.Timeout = x.timeout
	}
	return x.api.Do(x.ctx, r)
}

// forgeLimit is the time limit of what asks a forge.
func (x *execution) forgeLimit() time.Duration {
	if x.timeout != 0 {
		return min(x.timeout, forgeTimeout)
	}
	return forgeTimeout
}

// remove deletes an object. One that is not there any more is as good as deleted.
func (x *execution) remove(a *Actual, query url.Values) error {
	err := x.do(garmapi.Request{Op: "delete " + a.Label(), Method: http.MethodDelete, Path: a.Kind.member(a), Query: query})
	if garmapi.Is(err, http.StatusNotFound) {
		return nil
	}
	return err
}

// change carries out one change.
func (x *execution) change(c Change) error {
	if c.Action == Delete {
		return x.delete(c.actual)
	}
	t := c.target
	if err := x.ready(t); err != nil {
		return err
	}
	var err error
	if c.Action == Create {
		err = x.create(t)
	} else {
		err = x.update(t, c)
	}
	if timedOut(err) {
		x.silence.note(t)
	}
	return err
}

// ready reports what a target waits for.
func (x *execution) ready(t *target) error {
	for _, key := range t.Kind.needed(t) {
		if _, failed := x.failed[key]; failed {
			return &errWaits{x.labelOf(key)}
		}
		if x.actuals[key] == nil && len(x.observed.byKey[key]) == 0 {
			return fmt.Errorf("cannot do without %s, which is neither declared nor on the server", x.labelOf(key))
		}
	}
	return x.silence.of(t)
}

func (x *execution) labelOf(key string) string {
	if t := x.declared[key]; t != nil {
		return t.Label()
	}
	return key
}

// needed are the keys of what a target needs; none for the kinds that need nothing.
func (k *Kind) needed(t *target) []string {
	if k.needs == nil {
		return nil
	}
	return k.needs(t)
}

// create makes a new object.
func (x *execution) create(t *target) error {
	if t.Kind.create != nil {
		id, err := t.Kind.create(x, t)
		if err == nil {
			x.actuals[t.Key] = &Actual{Kind: t.Kind, Key: t.Key, ID: id, Forge: t.Forge, Endpoint: t.Endpoint, parent: x.actuals[parentKey(t)]}
		}
		return err
	}
	if t.Kind.within == nil {
		return errors.New("the server has none")
	}
	path, err := t.Kind.within(x, t)
	if err != nil {
		return err
	}
	body := map[string]any{}
	for _, f := range t.Kind.Fields {
		value, declared := t.Values[f.Name]
		if !declared {
			value = f.Default
		}
		if value != nil && !f.Ours && (f.Forge == "" || f.Forge == t.Forge) {
			body[f.wire()] = f.sent(value)
		}
	}
	if err := x.finish(t, nil, body); err != nil {
		return err
	}
	var answer map[string]any
	r := garmapi.Request{Op: "create " + t.Label(), Method: http.MethodPost, Path: path, Body: body, Into: &answer, Secrets: secretsOf(t)}
	if t.Kind.AsksForge {
		r.Timeout = x.forgeLimit()
	}
	if err := x.do(r); err != nil {
		return err
	}
	x.memory.put(t.Key, Remembered{Sent: x.memory.Objects[t.Key].Sent})
	x.memory.sent(t)
	x.actuals[t.Key] = x.made(t, answer)
	return nil
}

// made is the object that a creation answered with. What its key would say is known better: by the declaration.
func (x *execution) made(t *target, answer map[string]any) *Actual {
	raw := exact(answer)
	a := &Actual{Kind: t.Kind, Forge: t.Forge, Values: map[string]any{}, raw: raw, observed: x.observed}
	t.Kind.identify(a, raw)
	a.Key, a.Endpoint = t.Key, t.Endpoint
	if t.parent != nil {
		a.parent, a.ParentKey = x.actuals[t.parent.Key], t.parent.Key
	}
	return a
}

func parentKey(t *target) string {
	if t.parent == nil {
		return ""
	}
	return t.parent.Key
}

// update sends what differs, and nothing else.
func (x *execution) update(t *target, c Change) error {
	body := map[string]any{}
	secret := false
	for _, change := range c.Fields {
		if change.Secret {
			secret = true
			continue
		}
		if f, ok := t.Kind.field(change.Name); ok && change.Name != "runner_prefix" || t.Values[change.Name] != nil {
			body[f.wire()] = f.sent(t.Values[change.Name])
		}
	}
	if secret {
		for key, value := range t.Kind.secret(t) {
			body[key] = value
		}
	}
	if err := x.complete(t, c.actual, body); err != nil {
		return err
	}
	err := x.do(garmapi.Request{Op: "update " + t.Label(), Method: http.MethodPut, Path: t.Kind.member(c.actual), Body: body, Secrets: secretsOf(t)})
	if err == nil && secret {
		x.memory.sent(t)
	}
	return err
}

// finish completes the body of a creation: with its secrets too.
func (x *execution) finish(t *target, a *Actual, body map[string]any) error {
	if t.Kind.secret != nil {
		for key, value := range t.Kind.secret(t) {
			body[key] = value
		}
	}
	return x.complete(t, a, body)
}

func (x *execution) complete(t *target, a *Actual, body map[string]any) error {
	if t.Kind.complete == nil {
		return nil
	}
	return t.Kind.complete(x, t, a, body)
}

// sent is the value as JSON wants it; bytes become base64.
func (f Field) sent(value any) any {
	if f.Type == File {
		return []byte(value.(string))
	}
	return value
}

// templateID puts a template's id in the place of its name.
func (x *execution) templateID(t *target, body map[string]any) error {
	name := t.text("template")
	if _, wanted := body["template_id"]; !wanted || name == "" {
		delete(body, "template_id")
		return nil
	}
	if a := x.actuals[templateKey(name)]; a != nil {
		body["template_id"] = number(a.ID)
		return nil
	}
	for id, known := range x.observed.templates {
		if known == name {
			body["template_id"] = number(id)
			return nil
		}
	}
	return fmt.Errorf("there is no template %s", name)
}

// delete removes an object, once everything that belongs to it is gone.
func (x *execution) delete(a *Actual) error {
	for _, inner := range x.observed.all {
		if inner.ParentKey == a.Key && !x.gone[idKey(inner.Kind, inner.ID)] {
			if err, failed := x.failed[twinKey(inner)]; failed {
				return &errWaits{inner.Label() + ": " + err.Error()}
			}
			if err, failed := x.failed[inner.Key]; failed {
				return &errWaits{inner.Label() + ": " + err.Error()}
			}
			return fmt.Errorf("cannot delete it while it has %s, which is not ours to delete", inner.Label())
		}
	}
	done, err := true, error(nil)
	if a.Kind.delete != nil {
		done, err = a.Kind.delete(x, a)
	} else {
		err = x.remove(a, nil)
	}
	if err == nil && done {
		x.gone[idKey(a.Kind, a.ID)] = true
		if !x.left(a) {
			x.memory.forget(a.Key)
		}
	}
	return err
}

// left reports whether another object has the key of one that is gone.
func (x *execution) left(a *Actual) bool {
	return slices.ContainsFunc(x.observed.byKey[a.Key], func(b *Actual) bool { return !x.gone[idKey(b.Kind, b.ID)] })
}

// timedOut reports that nobody knows what became of a request.
func timedOut(err error) bool {
	var request *garmapi.RequestError
	return errors.As(err, &request) && errors.Is(err, context.DeadlineExceeded)
}

func secretsOf(t *target) []string {
	var all []string
	for _, s := range t.secrets {
		all = append(all, s)
	}
	return all
}
