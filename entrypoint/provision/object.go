package provision

import "fmt"

// Object is one declared object.
type Object struct {
	Kind  *Kind
	Place Place
	// Name as in the file: "bot", "acme/web"; of a pool its own, without its entity's.
	Name string
	// Parent is the entity of a pool, a scale set or a webhook; else nil.
	Parent *Object
	// Values of the fields that were declared, but for secrets. A file's value is its content.
	Values map[string]any
	// Forge and Endpoint as far as the files say; Credentials of an entity; ID of what is adopted.
	Forge, Endpoint, Credentials, ID string

	places  map[string]Place
	secrets map[string]string
	// incomplete says which secrets are not known (Sources.Incomplete).
	incomplete []string
}

// Label names the object in messages, as in the file.
func (o *Object) Label() string {
	label := o.Kind.Name
	if o.Name != "" {
		label += " " + o.Name
	}
	if o.Parent != nil {
		label = fmt.Sprintf("%s of %s", label, o.Parent.Label())
	}
	return label
}

// placeOf a field, or of the object where the field was left out.
func (o *Object) placeOf(field string) Place {
	if p, ok := o.places[field]; ok {
		return p
	}
	return o.Place
}

func (o *Object) text(field string) string {
	s, _ := o.Values[field].(string)
	return s
}

// Declared is what a set of provision files says.
type Declared struct {
	// Objects in the order of Kinds, those of a kind in the order of the files.
	Objects []*Object
	// Warnings on what is allowed and yet hardly meant.
	Warnings []string
	// SecretVariables are the names of environment variables that hold secrets: no child may inherit them.
	SecretVariables []string
	// Digest tells one content of the files, secrets included, from another. It is keyed with a random key of this
	// process: nothing can be learnt from it.
	Digest string
}

// Incomplete lists what is missing for an apply, where Sources.Incomplete let it pass.
func (d *Declared) Incomplete() []string {
	var all []string
	for _, o := range d.Objects {
		for _, what := range o.incomplete {
			all = append(all, o.Label()+": "+what)
		}
	}
	return all
}

// Providers returns the provider names that pools and scale sets use, each with the first place that names it.
func (d *Declared) Providers() map[string]Place {
	names := map[string]Place{}
	for _, o := range d.Objects {
		name := o.text("provider")
		if _, known := names[name]; name != "" && !known {
			names[name] = o.placeOf("provider")
		}
	}
	return names
}

// Controller returns the text field of the declared controller settings, and where it stands; "" when it is not declared.
func (d *Declared) Controller(field string) (string, Place) {
	for _, o := range d.Objects {
		if o.Kind == controllerKind {
			return o.text(field), o.placeOf(field)
		}
	}
	return "", Place{}
}

// Webhooks reports whether any webhook is to be installed, and where the first one is asked for.
func (d *Declared) Webhooks() (Place, bool) {
	for _, o := range d.Objects {
		if o.Kind == webhookKind {
			return o.Place, true
		}
	}
	return Place{}, false
}
