package provision_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
)

// fakeAPI answers lists with what a test puts there, and takes every write. It is for what the pure comparison makes of
// a state, and for answers that a real garm cannot be made to give.
type fakeAPI struct {
	mutex   sync.Mutex
	answers map[string]string // by path
	written []written
	asked   []string
	// refuse, when set, is asked what becomes of a write.
	refuse func(r garmapi.Request) error
}

type written struct {
	method, path string
	body         map[string]any
	raw          map[string]string // the fields as JSON
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{answers: map[string]string{
		"/controller":       `{"controller_id":"c1","version":"v0.2.1","controller_webhook_url":"http://garm/webhooks/c1"}`,
		"/github/endpoints": `[{"name":"github.com","endpoint_type":"github","base_url":"https://github.com"}]`,
	}}
}

func (f *fakeAPI) Do(_ context.Context, r garmapi.Request) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if r.Method != "GET" {
		body, _ := r.Body.(map[string]any)
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		exact := map[string]any{}
		_ = json.Unmarshal(data, &exact)
		fields, raw := map[string]json.RawMessage{}, map[string]string{}
		_ = json.Unmarshal(data, &fields)
		for name, value := range fields {
			raw[name] = string(value)
		}
		f.written = append(f.written, written{r.Method, r.Path, exact, raw})
		if f.refuse != nil {
			if err := f.refuse(r); err != nil {
				return err
			}
		}
	} else {
		f.asked = append(f.asked, r.Path)
	}
	answer, known := f.answers[r.Path]
	if !known || r.Method != "GET" {
		answer = "null"
	}
	if answer == "404" {
		return &garmapi.Error{Op: r.Op, Code: 404, Kind: "Not Found", Details: garmapi.NoSuchPath}
	}
	if r.Into == nil {
		return nil
	}
	return json.Unmarshal([]byte(answer), r.Into)
}

// apply applies; whether anything differs afterwards is not this server's business.
func (f *fakeAPI) apply(t *testing.T, memory *provision.Memory, declared *provision.Declared, options provision.PlanOptions) *provision.Result {
	t.Helper()
	result, err := (&provision.Applier{API: f, Memory: memory, Options: options}).Apply(t.Context(), declared)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// plan compares what the text declares with what the server has.
func (f *fakeAPI) plan(t *testing.T, memory *provision.Memory, text string, options provision.PlanOptions) *provision.Plan {
	t.Helper()
	return f.planOf(t, memory, load(t, write(t, t.TempDir(), "a.toml", text)), options)
}

func (f *fakeAPI) planOf(t *testing.T, memory *provision.Memory, declared *provision.Declared, options provision.PlanOptions) *provision.Plan {
	t.Helper()
	observed, err := provision.Observe(t.Context(), f, declared, memory)
	if err != nil {
		t.Fatal(err)
	}
	return provision.NewPlan(declared, observed, memory, options)
}

// summary is a plan in lines: + for changes as they are, drift with ?, problems with !, undeclared with u.
func summary(p *provision.Plan) string {
	var lines []string
	for _, c := range p.Changes {
		lines = append(lines, string(c.Action)+" "+c.Object+fieldsOf(c))
	}
	for _, c := range p.Drift {
		lines = append(lines, "? "+string(c.Action)+" "+c.Object+fieldsOf(c))
	}
	for _, problem := range p.Problems {
		lines = append(lines, "! "+problem.Object+": "+problem.Text)
	}
	for _, label := range p.Undeclared {
		lines = append(lines, "u "+label)
	}
	return strings.Join(lines, "\n")
}

func fieldsOf(c provision.Change) (text string) {
	if c.Action != provision.Update {
		return ""
	}
	for _, f := range c.Fields {
		text += " " + f.Name
		if !f.Secret {
			text += "=" + f.To
		}
	}
	return text
}

func jsonString(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
