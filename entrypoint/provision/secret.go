package provision

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"unicode/utf8"
)

// secretValue reads a secret in one of its forms. What is wrong with it is said without it.
func (d *declarer) secretValue(o *Object, t table, f Field, key, form string) {
	place := t.at(key)
	if _, twice := o.places[f.Name]; twice {
		d.faults.add(place, "%s: set one of %s_file, %s_env and %s", key, f.Name, f.Name, f.Name)
		return
	}
	o.places[f.Name] = place
	name, ok := t.keys[key].(string)
	switch {
	case !ok:
		d.faults.add(place, "%s: it must be a string", key)
		return
	case name == "":
		d.faults.add(place, "%s: it is empty", key)
		return
	}
	value := name
	switch form {
	case inFile:
		path := beside(place.File, name)
		data, err := d.read(path, maxSecret)
		if errors.Is(err, fs.ErrNotExist) {
			d.lacks(o, place, "%s: cannot read %s: %v", key, path, err)
			return
		}
		if err != nil {
			d.faults.add(place, "%s: cannot read %s: %v", key, path, err)
			return
		}
		if value = trimLineEnd(string(data)); value == "" {
			d.faults.add(place, "%s: %s is empty", key, path)
			return
		}
	case inEnv:
		d.out.SecretVariables = append(d.out.SecretVariables, name)
		if value, ok = d.variable(name); !ok || value == "" {
			d.lacks(o, place, "%s: the variable %s is not set, or empty", key, name)
			return
		}
	case inClear:
		if readable(place.File) && !d.warned[place.File] {
			d.warned[place.File] = true
			d.out.Warnings = append(d.out.Warnings, place.String()+": "+key+" is in clear and the file is readable for everybody: use "+f.Name+"_file, or chmod 0600")
		}
	}
	d.saw(place.String()+key, []byte(value))
	if !utf8.ValidString(value) {
		d.faults.add(place, "%s: it is not valid UTF-8", key)
		return
	}
	if f.Valid != nil {
		if err := f.Valid(value); err != nil {
			d.faults.add(place, "%s: %v", key, err)
			return
		}
	}
	o.secrets[f.Name] = value
}

func (d *declarer) variable(name string) (string, bool) {
	if d.sources.Variable == nil {
		return "", false
	}
	return d.sources.Variable(name)
}

// fingerprint of a value under a key: equal values have equal ones, and without the key nothing can be tried out.
func fingerprint(key []byte, object string, value any) string {
	data, _ := json.Marshal(value) // of strings, numbers and maps of them
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(object))
	mac.Write([]byte{0})
	mac.Write(data)
	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil)[:18])
}
