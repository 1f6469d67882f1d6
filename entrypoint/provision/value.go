package provision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type of a field's value.
type Type int

// The types of values. In Go they are string, int64, bool, []string and, for JSON, what encoding/json makes of it.
const (
	Text   Type = iota
	Number      // a whole number that is not negative
	Bool
	List   // of strings, whose order means nothing
	JSON   // a table, or a string that holds JSON (which can say null)
	Secret // named by X_file or X_env, or X in clear
	File   // the path of a file, whose content is the value
)

func (t Type) String() string {
	return [...]string{"string", "whole number", "true or false", "list of strings", "table, or string of JSON", "secret", "path of a file"}[t]
}

// check converts what TOML holds to the type's Go value, or says what to write instead.
func (t Type) check(v any) (any, error) {
	switch t {
	case Number:
		if n, ok := v.(int64); ok && n >= 0 && n <= math.MaxUint32 {
			return n, nil
		}
	case Bool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case List:
		if list, ok := stringsOf(v); ok {
			return list, nil
		}
	case JSON:
		return jsonOf(v)
	default:
		if s, ok := v.(string); ok {
			return s, nil
		}
	}
	return nil, fmt.Errorf("it must be a %s", t)
}

func stringsOf(v any) ([]string, bool) {
	raw, ok := v.([]any)
	list := make([]string, 0, len(raw))
	for _, element := range raw {
		s, isString := element.(string)
		ok = ok && isString
		list = append(list, s)
	}
	return list, ok
}

// jsonOf accepts a table or a string that holds a JSON object or null.
func jsonOf(v any) (any, error) {
	if s, ok := v.(string); ok {
		value, err := exactJSON([]byte(s))
		if err != nil {
			return nil, fmt.Errorf("it must be a table, or a string that holds JSON")
		}
		switch value.(type) {
		case nil, map[string]any:
			return value, nil
		}
		return nil, fmt.Errorf("its JSON must be an object or null")
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, fmt.Errorf("it must be a table, or a string that holds JSON")
	}
	data, err := json.Marshal(v) // dates and the like become what JSON has for them
	if err != nil {
		return nil, fmt.Errorf("it holds what JSON cannot: %w", err)
	}
	return exactJSON(data)
}

// exactJSON decodes one JSON value. Whole numbers stay as they are, whatever their size; others become what a float64
// makes of them, so that 1.0 and 1 are one.
func exactJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return evenNumbers(value), nil
}

// evenNumbers gives equal numbers one form.
func evenNumbers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			v[key] = evenNumbers(inner)
		}
	case []any:
		for n, inner := range v {
			v[n] = evenNumbers(inner)
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return value
}

// observedValue converts what garm's answer holds for a field. An absent field is its type's zero: garm leaves those out.
func (t Type) observedValue(v any) any {
	switch t {
	case Number:
		n, _ := v.(json.Number)
		whole, _ := strconv.ParseInt(n.String(), 10, 64)
		return whole
	case Bool:
		b, _ := v.(bool)
		return b
	case List:
		return observedList(v)
	case JSON:
		data, _ := json.Marshal(v)
		value, _ := exactJSON(data) // what was marshalled a line ago
		return value
	}
	s, _ := v.(string)
	return s
}

// observedList takes strings, and garm's tags, which come as objects {id, name}.
func observedList(v any) []string {
	raw, _ := v.([]any)
	list := make([]string, 0, len(raw))
	for _, element := range raw {
		switch e := element.(type) {
		case string:
			list = append(list, e)
		case map[string]any:
			name, _ := e["name"].(string)
			list = append(list, name)
		}
	}
	return list
}

// same compares two values of the type. Lists are sets without regard to case, as garm's tags are.
func (t Type) same(a, b any) bool {
	if t == List {
		return slices.Equal(foldedSet(a), foldedSet(b))
	}
	return t.text(a) == t.text(b)
}

func foldedSet(v any) []string {
	list, _ := v.([]string)
	folded := make([]string, 0, len(list))
	for _, s := range list {
		folded = append(folded, strings.ToLower(s))
	}
	slices.Sort(folded)
	return slices.Compact(folded)
}

// text is the value for people: as it would stand in a file, long ones cut.
func (t Type) text(v any) string {
	switch value := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(value)
	case []string:
		quoted := make([]string, 0, len(value))
		for _, s := range value {
			quoted = append(quoted, strconv.Quote(s))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case int64, bool:
		return fmt.Sprint(value)
	}
	data, _ := json.Marshal(v) // maps come with sorted keys
	return string(data)
}

// normal is a value in the one form that equal values have, for fingerprints.
func (t Type) normal(v any) any {
	if t == List {
		return foldedSet(v)
	}
	return v
}

// zero is what an answer means that says nothing of the field.
func (t Type) zero() any { return t.observedValue(nil) }
