package provision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/provision"
)

var (
	someChanges = []provision.Change{
		{Action: provision.Create, Object: "credentials bot", Fields: []provision.FieldChange{{Name: "endpoint", To: `"gitea"`}, {Name: "token", Secret: true}}},
		{Action: provision.Create, Object: "webhook of repository acme/web"},
		{Action: provision.Update, Object: "pool small of repository acme/web", Note: "runners that are there stay as they are",
			Fields: []provision.FieldChange{{Name: "image", From: `"runner:22.04"`, To: `"runner:24.04"`}, {Name: "max_runners", From: "3", To: "5"}}},
		{Action: provision.Update, Object: "credentials other", Fields: []provision.FieldChange{{Name: "token", Secret: true}}},
		{Action: provision.Update, Object: "template long", Fields: []provision.FieldChange{{Name: "description", From: `"` + strings.Repeat("é", 200) + `"`, To: `"short"`}}},
		{Action: provision.Delete, Object: "pool old of repository acme/web"},
	}
	someProblemsOf = []provision.Problem{
		{Object: "endpoint gitea", Place: provision.Place{File: "forge.toml", Line: 3}, Text: "base_url cannot be changed"},
		{Object: "webhook of organization acme", Text: "the server answered 500 (\x1b[2Jhttp://\nforge)", Later: true},
	}
	someDrift = []provision.Change{{Action: provision.Update, Object: "pool a of organization acme", Fields: []provision.FieldChange{{Name: "enabled", From: "false", To: "true"}}},
		{Action: provision.Create, Object: "pool b of organization acme", Note: "it was deleted by hand"}}
)

func somePlan() *provision.Plan {
	return &provision.Plan{Changes: someChanges, Problems: someProblemsOf, Drift: someDrift, Undeclared: []string{"pool c of organization acme"}, Unchanged: 12}
}

func someResult() *provision.Result {
	return &provision.Result{Created: 2, Updated: 3, Deleted: 1, Unchanged: 12, Failed: 2, Changes: someChanges, Problems: someProblemsOf, Drift: someDrift,
		Undeclared: []string{"pool c of organization acme"}, Took: 2345 * time.Millisecond}
}

// What people and programs read is the golden files'.
func TestFormats(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *strings.Builder) error{
		"plan.txt":         func(w *strings.Builder) error { return provision.WritePlan(w, somePlan(), false) },
		"plan-colours.txt": func(w *strings.Builder) error { return provision.WritePlan(w, somePlan(), true) },
		"plan-nothing.txt": func(w *strings.Builder) error { return provision.WritePlan(w, &provision.Plan{Unchanged: 3}, true) },
		"result.txt":       func(w *strings.Builder) error { return provision.WriteResult(w, someResult(), false) },
		"result-nothing.txt": func(w *strings.Builder) error {
			return provision.WriteResult(w, &provision.Result{Unchanged: 3, Took: 4567 * time.Microsecond}, false)
		},
		"plan.json":           func(w *strings.Builder) error { return encode(w, somePlan()) },
		"result.json":         func(w *strings.Builder) error { return encode(w, someResult()) },
		"result-nothing.json": func(w *strings.Builder) error { return encode(w, &provision.Result{Unchanged: 3}) },
	} {
		var text strings.Builder
		if err := write(&text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		golden(t, name, text.String())
	}
}

func encode(w *strings.Builder, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
