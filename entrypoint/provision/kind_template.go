package provision

import (
	"fmt"
	"net/url"
)

// templateKind is a script that sets a runner up. garm's own ones belong to the system and are read-only.
var templateKind = &Kind{
	Name: "template",
	Help: "a script that sets runners up, in place of garm's own",
	Fields: []Field{
		{Name: "name", Required: true, Ours: true, Valid: validTitle, Help: "its key"},
		{Name: "description", Help: "for people"},
		{Name: "forge", Required: true, Wire: "forge_type", Choices: []string{gitHub, gitea}, Help: "github or gitea",
			Fixed: "garm changes no template's forge: declare it under another name"},
		{Name: "os_type", Required: true, Choices: []string{"linux", "windows"}, Help: "linux or windows",
			Fixed: "garm changes no template's operating system: declare it under another name"},
		{Name: "file", Type: File, Required: true, Wire: "data", Deep: true, Valid: notEmpty, Help: "path of the script"},
	},
	lists: []listing{{path: "/templates"}},
	named: func(_ *declarer, o *Object, t table) { o.Name, _ = t.keys["name"].(string) },
	key:   func(t *target) string { return templateKey(t.Name) },
	identify: func(a *Actual, raw map[string]any) {
		a.observed.templates[numberText(raw, "id")] = pickText(raw, "name")
		if pickText(raw, "owner_id") == templateOfSystem {
			return
		}
		a.Name, a.ID = pickText(raw, "name"), numberText(raw, "id")
		a.Key = templateKey(a.Name)
	},
	export: func(_ *exporter, p *printed, a *Actual) { p.values["name"] = a.Name },
	within: func(*execution, *target) (string, error) { return "/templates", nil },
	member: func(a *Actual) string { return "/templates/" + url.PathEscape(a.ID) },
	complete: func(_ *execution, t *target, a *Actual, body map[string]any) error {
		if a == nil {
			body["name"] = t.Name
			if body["description"] == nil {
				body["description"] = ""
			}
		}
		return nil
	},
}

// templateOfSystem is the owner of garm's own templates.
const templateOfSystem = "system"

func templateKey(name string) string { return "template/" + name }

func notEmpty(v any) error {
	if len(v.([]byte)) == 0 {
		return fmt.Errorf("it is empty")
	}
	return nil
}
