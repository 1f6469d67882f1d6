package provision

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// declarer turns documents into objects.
type declarer struct {
	*loader
	out Declared
	// warned: files whose clear secrets were mentioned.
	warned map[string]bool
}

func newDeclarer(l *loader) *declarer { return &declarer{loader: l, warned: map[string]bool{}} }

// document reads the tables at the top.
func (d *declarer) document(doc *document) {
	for _, key := range sortedKeys(doc.root) {
		k := kindNamed(key)
		if k == nil || len(k.In) > 0 {
			d.faults.add(doc.root.at(key), "unknown key %q; there are %s", key, strings.Join(topLevel(), ", "))
			continue
		}
		d.all(k, doc.root, key, nil)
	}
}

func topLevel() []string {
	var names []string
	for _, k := range Kinds {
		if len(k.In) == 0 {
			names = append(names, k.Name)
		}
	}
	return names
}

// all reads the tables of one kind in t.
func (d *declarer) all(k *Kind, t table, key string, parent *Object) {
	if k.Single {
		if inner, ok := t.table(key); ok {
			d.object(k, inner, parent)
		} else {
			d.faults.add(t.at(key), "%s is one table: write [%s]", key, key)
		}
		return
	}
	list, ok := t.tables(key)
	if !ok {
		d.faults.add(t.at(key), "%s is a list of tables: write [[%s]]", key, headerOf(k, parent))
		return
	}
	for _, inner := range list {
		d.object(k, inner, parent)
	}
}

func headerOf(k *Kind, parent *Object) string {
	if parent == nil {
		return k.Name
	}
	return parent.Kind.Name + "." + k.Name
}

// object reads one table.
func (d *declarer) object(k *Kind, t table, parent *Object) {
	o := &Object{Kind: k, Place: t.place, Parent: parent, Values: map[string]any{}, places: map[string]Place{}, secrets: map[string]string{}}
	nested := k.nested()
	for _, key := range sortedKeys(t) {
		if f, part := k.fieldOfKey(key); part != "" {
			d.fieldValue(o, t, f, key, part)
		} else if inner := slices.IndexFunc(nested, func(n *Kind) bool { return n.Name == key }); inner < 0 {
			d.faults.add(t.at(key), "unknown key %q in %s; there are %s", key, k.Name, strings.Join(k.keysInFiles(), ", "))
		}
	}
	if k.named != nil {
		k.named(d, o, t)
	}
	d.required(o, t)
	d.out.Objects = append(d.out.Objects, o)
	for _, inner := range nested {
		if _, there := t.keys[inner.Name]; there {
			d.all(inner, t, inner.Name, o)
		}
	}
}

// Forms of a secret's key.
const (
	inClear = "clear"
	inFile  = "file"
	inEnv   = "env"
	asValue = "value"
)

// fieldOfKey returns the field that a key in a file belongs to, and the form it has there; "" when there is none.
func (k *Kind) fieldOfKey(key string) (Field, string) {
	for _, f := range k.Fields {
		switch {
		case f.Type != Secret && key == f.Name:
			return f, asValue
		case f.Type == Secret && key == f.Name:
			return f, inClear
		case f.Type == Secret && key == f.Name+"_file":
			return f, inFile
		case f.Type == Secret && key == f.Name+"_env":
			return f, inEnv
		case f.Type == File && key == f.Wire:
			return f, inText
		}
	}
	return Field{}, ""
}

// keysInFiles are all keys of the kind's table.
func (k *Kind) keysInFiles() []string {
	var all []string
	for _, f := range k.Fields {
		if f.Type == Secret {
			all = append(all, f.Name+"_file", f.Name+"_env")
		}
		all = append(all, f.Name)
		if f.Type == File {
			all = append(all, f.Wire)
		}
	}
	for _, inner := range k.nested() {
		all = append(all, inner.Name)
	}
	return all
}

// fieldValue reads one key.
func (d *declarer) fieldValue(o *Object, t table, f Field, key, form string) {
	place, raw := t.at(key), t.keys[key]
	switch form {
	case asValue:
	case inText:
		d.contentValue(o, t, f, key)
		return
	default:
		d.secretValue(o, t, f, key, form)
		return
	}
	v, err := f.Type.check(raw)
	if err != nil {
		d.faults.add(place, "%s: %v", key, err)
		return
	}
	if err := f.validate(v); err != nil {
		d.faults.add(place, "%s: %v", key, err)
		return
	}
	if f.Type == File && d.twice(o, f, place) {
		return
	}
	o.places[f.Name] = place
	if f.Type == File {
		path := beside(place.File, v.(string))
		data, err := d.read(path, maxFile)
		if err != nil {
			d.faults.add(place, "%s: cannot read %s: %v", key, path, err)
			return
		}
		if f.Valid != nil {
			if err := f.Valid(data); err != nil {
				d.faults.add(place, "%s: cannot use %s: %v", key, path, err)
				return
			}
		}
		v = string(data)
	}
	o.Values[f.Name] = v
}

// validate checks choices and, but for files, whose content is not read yet, the field's own rule.
func (f Field) validate(v any) error {
	if s, ok := v.(string); ok && f.Choices != nil && !slices.Contains(f.Choices, s) {
		return fmt.Errorf("%q is none of %s", s, quotedList(f.Choices))
	}
	if f.Valid != nil && f.Type != File {
		return f.Valid(v)
	}
	return nil
}

func quotedList(list []string) string {
	quoted := make([]string, 0, len(list))
	for _, s := range list {
		quoted = append(quoted, fmt.Sprintf("%q", s))
	}
	return strings.Join(quoted, ", ")
}

// required names the keys that are missing.
func (d *declarer) required(o *Object, t table) {
	for _, f := range o.Kind.Fields {
		_, declared := o.Values[f.Name]
		_, secret := o.secrets[f.Name]
		_, tried := o.places[f.Name]
		if declared || secret || tried || f.keyIn(t) {
			continue
		}
		if f.Required || f.RequiredNew && o.ID == "" {
			name := f.Name
			if f.Type == Secret {
				name += "_file"
			}
			d.faults.add(o.Place, "%s needs %s: %s", o.Label(), name, f.Help)
		}
	}
}

// keyIn reports whether the table says something of the field, right or wrong.
func (f Field) keyIn(t table) bool {
	for key := range t.keys {
		if key == f.Name || f.Type == File && key == f.Wire || f.Type == Secret && (key == f.Name+"_file" || key == f.Name+"_env") {
			return true
		}
	}
	return false
}

// finish orders the objects and looks for what is declared twice.
func (d *declarer) finish() *Declared {
	out := &d.out
	slices.SortStableFunc(out.Objects, func(a, b *Object) int { return cmp.Compare(a.Kind.rank(), b.Kind.rank()) })
	out.SecretVariables = uniq(out.SecretVariables)
	targets, _ := resolve(out, nil)
	for _, twice := range doubles(targets, (*target).offlineIdentities) {
		d.faults.add(twice.Place, "%s is declared twice: here and at %s", twice.Label(), twice.first.Place)
	}
	return out
}

// double is an object that an earlier one declares already.
type double struct {
	*target
	first *target
}

// doubles are those targets that have an identity in common with an earlier one, each once.
func doubles(targets []*target, identities func(*target) []string) (all []double) {
	seen := map[string]*target{}
	for _, t := range targets {
		var first *target
		for _, identity := range identities(t) {
			if other := seen[identity]; other != nil && first == nil {
				first = other
			} else {
				seen[identity] = t
			}
		}
		if first != nil {
			all = append(all, double{t, first})
		}
	}
	return all
}

// offlineIdentities of a target, as far as its files tell: two of one are one object, whatever the server says.
func (t *target) offlineIdentities() []string {
	var all []string
	switch {
	case t.Key != "":
		all = append(all, t.Key)
	case t.parent != nil:
		all = append(all, fmt.Sprintf("%p/%s/%s", t.parent, t.Kind.Name, t.Name))
	case t.Credentials != "":
		all = append(all, entityKey(t.Kind.Name, t.Credentials+" "+t.Forge, t.Name)+" ?")
	}
	if t.ID != "" {
		all = append(all, idKey(t.Kind, t.ID))
	}
	return all
}

// sortedKeys of a table in the order of the file.
func sortedKeys(t table) []string {
	return slices.SortedFunc(maps.Keys(t.keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.at(a).Line, t.at(b).Line), cmp.Compare(a, b))
	})
}
