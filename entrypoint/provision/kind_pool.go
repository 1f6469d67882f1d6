package provision

import (
	"fmt"
	"net/url"
	"slices"
)

// Fields that pools and scale sets share.
func runnerFields() []Field {
	return []Field{
		{Name: "provider", RequiredNew: true, Wire: "provider_name", Valid: validTitle, Help: "name of the [[provider]] in config.toml",
			Fixed: "garm moves no runners to another provider: declare another one under another name, and let this one drain"},
		{Name: "image", RequiredNew: true, Valid: notBlank, Help: "what runners are made of; its form is the provider's"},
		{Name: "flavor", RequiredNew: true, Valid: notBlank, Help: "their size; its form is the provider's"},
		{Name: "max_runners", Type: Number, RequiredNew: true, Help: "how many runners there are at most"},
		{Name: "min_idle_runners", Type: Number, Help: "how many of them wait for jobs"},
		{Name: "enabled", Type: Bool, Default: true, Help: "runners are created; when created and left out: true"},
		{Name: "os_type", Choices: []string{"linux", "windows"}, Default: "linux", Help: "linux or windows; when created and left out: linux"},
		{Name: "os_arch", Choices: []string{"amd64", "i386", "arm64", "arm"}, Default: "amd64", Help: "amd64, arm64, arm or i386; when created and left out: amd64"},
		{Name: "runner_bootstrap_timeout", Type: Number, Default: int64(20), Valid: atLeastOne, Help: "minutes until a runner that did not join is given up; when created and left out: 20"},
		{Name: "extra_specs", Type: JSON, Deep: true, Help: "what else the provider takes: a table, or a string of JSON"},
		{Name: "enable_shell", Type: Bool, Help: "garm's agent gives a shell on the runner"},
		{Name: "github-runner-group", Help: "runner group at GitHub"},
		{Name: "template", Wire: "template_id", Valid: validTitle, Help: "name of the template that sets runners up"},
		{Name: "replace_idle_runners", Type: Bool, Ours: true, Help: "true: after a change of what runners are made of, idle ones of before are removed; busy ones never"},
	}
}

// poolKind is a set of runners alike. garm has no key for it, so its name is kept on the server as its runner prefix.
var poolKind = &Kind{
	Name: "pool", In: []string{"repository", "organization", "enterprise"}, Keyless: true,
	Help: "runners that are alike",
	Fields: append([]Field{
		{Name: "name", Required: true, Ours: true, Valid: validPrefix, Help: "its key within its entity, and the beginning of its runners' names (runner_prefix on the server)"},
		{Name: "id", Ours: true, Help: "the server's id of an existing pool that is to be adopted, whatever its prefix"},
		{Name: "runner_prefix", Valid: notBlank, Help: "beside id: keeps the prefix of the adopted pool as it is"},
		{Name: "tags", Type: List, RequiredNew: true, Valid: someTags, Help: "what jobs ask for in runs-on"},
		{Name: "priority", Type: Number, Help: "pools with a higher one are used first"},
	}, runnerFields()...),
	lists: []listing{{path: "/pools"}},
	named: func(d *declarer, o *Object, t table) {
		o.Name, _ = t.keys["name"].(string)
		o.ID, _ = t.keys["id"].(string)
		if _, prefixed := t.keys["runner_prefix"]; prefixed && o.ID == "" {
			d.faults.add(t.at("runner_prefix"), "runner_prefix goes with id only: elsewhere the name is the prefix")
		}
		fewIdle(d, o, t)
	},
	key:   func(t *target) string { return t.parent.Key + "/pool/" + t.Name },
	needs: runnersNeed,
	identify: func(a *Actual, raw map[string]any) {
		if a.ofEntity(raw) {
			a.Name, a.ID = pickText(raw, "runner_prefix"), pickText(raw, "id")
			a.Key = a.ParentKey + "/pool/" + a.Name
		}
	},
	within: withinEntity("/pools"),
	member: func(a *Actual) string { return "/pools/" + url.PathEscape(a.ID) },
	complete: func(x *execution, t *target, a *Actual, body map[string]any) error {
		if a == nil || a.Name != t.Name && t.text("runner_prefix") == "" {
			body["runner_prefix"] = t.Name
		}
		if a == nil {
			adjustNew(body)
		}
		return x.templateID(t, body)
	},
	export: exportPool,
	delete: drain,
	after:  replaceIdle,
	adjust: func(t *target, a *Actual, fields []FieldChange) []FieldChange {
		return addedTags(t, a, prefixChange(t, a, fields))
	},
	note: keepsRunners,
	link: templateName,
}

// scaleSetKind is GitHub's way of handing jobs to runners without webhooks.
var scaleSetKind = &Kind{
	Name: "scale_set", In: []string{"repository", "organization", "enterprise"}, AsksForge: true,
	Help: "a runner scale set of GitHub",
	Fields: append([]Field{
		{Name: "name", Required: true, Ours: true, Valid: validTitle, Help: "its key within its entity, and what jobs ask for in runs-on"},
		{Name: "runner_prefix", Valid: validPrefix, Help: "the beginning of its runners' names"},
		{Name: "labels", Type: List, Seen: "tags", Unseen: true, Help: "further labels; sent at its creation only, garm changes none"},
		{Name: "disable_update", Type: Bool, Help: "GitHub's runner does not update itself", Fixed: "garm changes it at the creation only: declare another scale set under another name"},
		{Name: "scale_set_id", Type: Number, Unseen: true, Help: "GitHub's id of an existing scale set that is taken over; sent at its creation only"},
	}, runnerFields()...),
	lists: []listing{{path: "/scalesets"}},
	named: func(d *declarer, o *Object, t table) {
		o.Name, _ = t.keys["name"].(string)
		fewIdle(d, o, t)
	},
	key:   func(t *target) string { return t.parent.Key + "/scale_set/" + t.Name },
	needs: runnersNeed,
	identify: func(a *Actual, raw map[string]any) {
		if a.ofEntity(raw) {
			a.Name, a.ID = pickText(raw, "name"), numberText(raw, "id")
			a.Key = a.ParentKey + "/scale_set/" + a.Name
		}
	},
	within: withinEntity("/scalesets"),
	member: func(a *Actual) string { return "/scalesets/" + url.PathEscape(a.ID) },
	complete: func(x *execution, t *target, a *Actual, body map[string]any) error {
		if group, ok := body["github-runner-group"]; ok && a != nil {
			body["runner_group"] = group // its name in an update (garm v0.2.1: params.UpdateScaleSetParams)
			delete(body, "github-runner-group")
		}
		if a == nil {
			body["name"] = t.Name
			adjustNew(body)
		}
		return x.templateID(t, body)
	},
	export: func(_ *exporter, p *printed, a *Actual) {
		p.values["name"] = a.Name
		if labels := observedList(pick(a.raw, "tags")); len(labels) > 0 {
			p.values["labels"] = labels // never compared, and yet a new server needs them
		}
	},
	delete: drain,
	after:  replaceIdle,
	note:   keepsRunners,
	link:   templateName,
	forge:  gitHub,
}

// fewIdle: garm refuses more idle runners than runners.
func fewIdle(d *declarer, o *Object, t table) {
	idle, hasIdle := o.Values["min_idle_runners"].(int64)
	most, hasMost := o.Values["max_runners"].(int64)
	if hasIdle && hasMost && idle > most {
		d.faults.add(t.at("min_idle_runners"), "%s: min_idle_runners is %d, more than max_runners, %d", o.Label(), idle, most)
	}
}

// adjustNew makes of a wish what garm takes at a creation: it refuses a maximum of 0, which an update may set. The
// next comparison does that; until then no runner is made.
func adjustNew(body map[string]any) {
	if body["max_runners"] == int64(0) {
		body["max_runners"], body["enabled"] = int64(1), false
		delete(body, "min_idle_runners")
	}
}

func runnersNeed(t *target) []string {
	return []string{t.parent.Key}
}

// ofEntity finds the entity that a pool or scale set belongs to.
func (a *Actual) ofEntity(raw map[string]any) bool {
	for _, of := range []struct {
		field string
		kind  *Kind
	}{{"repo_id", repositoryKind}, {"org_id", organizationKind}, {"enterprise_id", enterpriseKind}} {
		if id := pickText(raw, of.field); id != "" {
			if a.parent = a.observed.byID[idKey(of.kind, id)]; a.parent != nil {
				a.ParentKey, a.Forge, a.Endpoint = a.parent.Key, a.parent.Forge, a.parent.Endpoint
				return true
			}
		}
	}
	return false
}

func withinEntity(path string) func(x *execution, t *target) (string, error) {
	return func(x *execution, t *target) (string, error) {
		entity := x.actuals[t.parent.Key]
		if entity == nil {
			return "", fmt.Errorf("%s is not there yet", t.parent.Label())
		}
		return entity.Kind.member(entity) + path, nil
	}
}

// prefixChange makes the name the prefix of an adopted pool, unless the declaration keeps the pool's own. Where the
// pool of that id is gone and this is another one, what was said of its prefix means nothing.
func prefixChange(t *target, a *Actual, fields []FieldChange) []FieldChange {
	keeps := t.text("runner_prefix") != ""
	if keeps && a.ID == t.ID {
		return fields
	}
	fields = slices.DeleteFunc(fields, func(c FieldChange) bool { return c.Name == "runner_prefix" })
	if a.Name == t.Name {
		return fields
	}
	return append(fields, FieldChange{Name: "runner_prefix", From: Text.text(a.Name), To: Text.text(t.Name)})
}

// addedTags: up to v0.1.4 garm adds the labels to the tags that GitHub gives every runner, and takes none of them away.
func addedTags(t *target, a *Actual, fields []FieldChange) []FieldChange {
	if !a.observed.lacking(endpointKind, gitHub) { // only those have none
		return fields
	}
	with := foldedSet(append([]string{"self-hosted", "linux", "windows", "x64", "arm64", "arm"}, t.list("tags")...))
	return slices.DeleteFunc(fields, func(c FieldChange) bool {
		have := foldedSet(a.Values["tags"])
		return c.Name == "tags" && subset(foldedSet(t.list("tags")), have) && subset(have, with)
	})
}

func (t *target) list(field string) []string {
	list, _ := t.Values[field].([]string)
	return list
}

func subset(part, of []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(of, s) })
}

// templateName puts the name in the place of the id: lists have no name (v0.2.1).
func templateName(a *Actual) {
	a.Values["template"] = a.observed.templates[numberText(a.raw, "template_id")]
}

// madeOf are the fields that make garm count a new generation of runners (v0.2.1, database/sql/util.go).
var madeOf = map[string]bool{"flavor": true, "enable_shell": true, "image": true, "os_arch": true, "os_type": true, "extra_specs": true, "github-runner-group": true}

// keepsRunners says what a change does not do to runners that are there.
func keepsRunners(t *target, fields []FieldChange) string {
	for _, f := range fields {
		if madeOf[f.Name] {
			if replace, _ := t.Values["replace_idle_runners"].(bool); replace {
				return "idle runners of before are removed, busy ones finish"
			}
			return "runners that are there stay as they are (replace_idle_runners = true removes the idle ones)"
		}
	}
	return ""
}

func notBlank(v any) error {
	if v.(string) == "" {
		return fmt.Errorf("it is empty")
	}
	return nil
}

func someTags(v any) error {
	list := v.([]string)
	if len(list) == 0 {
		return fmt.Errorf("there must be at least one")
	}
	seen := map[string]bool{}
	for _, tag := range foldedSet(list) {
		seen[tag] = true
		if tag == "" {
			return fmt.Errorf("a tag is empty")
		}
	}
	if len(seen) != len(list) {
		return fmt.Errorf("a tag stands there twice (case means nothing)")
	}
	return nil
}
