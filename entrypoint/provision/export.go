package provision

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"garm-entrypoint/entrypoint/garmapi"
)

// Exported is a running server, or part of a config, as a provision file.
type Exported struct {
	// Text of the file. It holds no secret.
	Text []byte
	// Secrets are the paths that it names secrets by, relative to the file: they are to be written before it is applied.
	Secrets []string
	// Left says what could not be declared; it stands in the file as a comment.
	Left []string
}

// Export prints a server as one provision file. Planned with Sources.Incomplete, it shows no difference to the server
// that it was taken from. What every server of that version has by itself, such as the system's templates, is left out.
func Export(ctx context.Context, api API) (*Exported, error) {
	observed, err := observeLists(ctx, api)
	if err != nil {
		return nil, err
	}
	e := &exporter{ctx: ctx, api: api, observed: observed, silent: map[string]bool{}}
	for _, k := range Kinds {
		if len(k.In) > 0 {
			continue
		}
		for _, a := range e.of(k, nil) {
			if err := e.object(a, k.Name, 0); err != nil {
				return nil, err
			}
		}
	}
	head := fmt.Sprintf("# Exported from the garm server %s (%s).\n", observed.ControllerID, orUnknown(observed.Version))
	return e.printer.finish(head), nil
}

// exporter prints the objects of one server.
type exporter struct {
	printer
	ctx      context.Context
	api      API
	observed *Observed
	// silent endpoints, whose forge was asked for a webhook and did not answer: it is asked no more.
	silent map[string]bool
}

// of lists the server's objects of a kind within parent, in an order that the server's own does not decide.
func (e *exporter) of(k *Kind, parent *Actual) []*Actual {
	var all []*Actual
	for _, a := range e.observed.all {
		untouched := k.untouched != nil && k.untouched(a)
		if a.Kind == k && a.parent == parent && !untouched {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *Actual) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.ID, b.ID)) })
	return all
}

// object prints an object and what stands in its table.
func (e *exporter) object(a *Actual, header string, depth int) error {
	if a.Kind.deep() {
		if err := a.read(e.ctx, e.api); err != nil {
			return err
		}
	}
	p := &printed{kind: a.Kind, label: a.Label(), header: header, depth: depth, values: map[string]any{}}
	e.values(p, a)
	if a.Kind.export != nil {
		a.Kind.export(e, p, a)
	}
	if same := e.observed.byKey[a.Key]; len(same) > 1 && p.values["id"] == nil {
		p.why = fmt.Sprintf("the server has %d of that name", len(same))
	}
	e.print(p)
	for _, inner := range a.Kind.nested() {
		for _, b := range e.of(inner, a) {
			if err := e.object(b, header+"."+inner.Name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// values takes over what the server shows of an object, but for what a new one would have anyway.
func (e *exporter) values(p *printed, a *Actual) {
	for _, f := range a.Kind.Fields {
		if !f.compared() || f.Forge != "" && f.Forge != a.Forge {
			continue
		}
		v := a.Values[f.Name]
		zero := f.Type.same(v, f.Type.zero())
		// Of what cannot be created, nobody knows what another server begins with.
		settings := a.Kind.builtin != nil && a.Kind.builtin(a) && (f.Type == Number || f.Type == Bool)
		if !zero || f.Required || f.RequiredNew || f.Default != nil && f.Type != Text || settings {
			p.values[f.Name] = v
		}
	}
}

// hook reports whether the forge has our webhook of an entity.
func (e *exporter) hook(a *Actual) bool {
	if e.silent[a.Endpoint] {
		return false
	}
	var hook struct{ URL string }
	err := e.api.Do(e.ctx, garmapi.Request{Op: "look for the webhook of " + a.Label(), Method: "GET", Path: a.Kind.member(a) + "/webhook",
		Into: &hook, Timeout: forgeTimeout})
	if err != nil && !garmapi.Is(err, 404) {
		e.silent[a.Endpoint] = true
		e.left = append(e.left, fmt.Sprintf("webhooks at %s: %v: where there is one, add webhook = \"install\"", a.Endpoint, err))
	}
	return err == nil && hook.URL == e.observed.WebhookURL
}

// exportPool names a pool. Those made by hand mostly share garm's own prefix: then the id says which is which, and
// runner_prefix keeps it as it is.
func exportPool(e *exporter, p *printed, a *Actual) {
	siblings := e.of(a.Kind, a.parent)
	names := map[string]bool{}
	for _, b := range siblings {
		names[b.Name] = true
	}
	given := map[string]bool{}
	for _, b := range siblings {
		name := freeName(prefixOf(b.Name), b.Name, given, names)
		given[name] = true
		if b != a {
			continue
		}
		p.values["name"] = name
		delete(p.values, "runner_prefix")
		if shared := len(e.observed.byKey[a.Key]) > 1; shared || name != a.Name {
			p.values["id"], p.values["runner_prefix"] = a.ID, a.Name
		}
	}
}

// freeName is the wish, with a number where another pool has it.
func freeName(wish, own string, given, names map[string]bool) string {
	name := wish
	for n := 2; given[name] || name != own && names[name]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = wish[:min(len(wish), maxPrefix-len(suffix))] + suffix
	}
	return name
}

// prefixOf makes a name of a prefix that garm took and the forges may not.
func prefixOf(s string) string {
	if validPrefix(s) == nil {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && prefix.MatchString(string(r)) {
			return r
		}
		return '-'
	}, s)
	if s = strings.Trim(s[:min(len(s), maxPrefix)], "-"); s == "" {
		return "pool"
	}
	return s
}
