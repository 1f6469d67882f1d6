package provision

import "encoding/json"

// The JSON of plans and results is a contract: names and meanings stay, new ones may come. docs/provisioning.md shows it.

// actionWords are the actions for programs.
var actionWords = map[Action]string{Create: "create", Update: "update", Delete: "delete"}

// MarshalJSON writes an action as a word: create, update or delete.
func (a Action) MarshalJSON() ([]byte, error) { return json.Marshal(actionWords[a]) }

// MarshalJSON adds the place, as file:line.
func (p Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	place := ""
	if p.Place.Line > 0 {
		place = p.Place.String()
	}
	return json.Marshal(struct {
		plain
		Place string `json:"place,omitempty"`
	}{plain(p), place})
}

// MarshalJSON adds how long it took, in seconds.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	if r.Changes == nil {
		r.Changes = []Change{}
	}
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_seconds"`
	}{plain(r), r.Took.Seconds()})
}
