package provision

import "fmt"

// inText is the form of a file's content that stands in the provision file itself, under garm's own name for it.
const inText = "text"

// contentValue reads such a content.
func (d *declarer) contentValue(o *Object, t table, f Field, key string) {
	place := t.at(key)
	if d.twice(o, f, place) {
		return
	}
	o.places[f.Name] = place
	text, ok := t.keys[key].(string)
	if !ok {
		d.faults.add(place, "%s: it must be a string", key)
		return
	}
	if f.Valid != nil {
		if err := f.Valid([]byte(text)); err != nil {
			d.faults.add(place, "%s: %v", key, err)
			return
		}
	}
	o.Values[f.Name] = text
}

// twice reports a field that is declared in two forms.
func (d *declarer) twice(o *Object, f Field, place Place) bool {
	_, twice := o.places[f.Name]
	if twice {
		d.faults.add(place, "set one of %s and %s", f.Name, f.Wire)
	}
	return twice
}

// lacks notes that a part of an object which apply needs is not known: a fault, but where Sources.Incomplete asks for
// no more than a comparison.
func (d *declarer) lacks(o *Object, place Place, format string, args ...any) {
	if !d.sources.Incomplete {
		d.faults.add(place, format, args...)
		return
	}
	text := fmt.Sprintf(format, args...)
	o.incomplete = append(o.incomplete, text)
	d.out.Warnings = append(d.out.Warnings, place.String()+": "+text+": compared without it, and cannot be applied")
}
