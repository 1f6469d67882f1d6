package provision

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strings"
)

// The entities that runners belong to. Names are compared without regard to case, as garm and the forges do.
var (
	repositoryKind   = entityKind("repository", "repositories", "a repository")
	organizationKind = entityKind("organization", "organizations", "an organization")
	enterpriseKind   = entityKind("enterprise", "enterprises", "a GitHub enterprise")
)

// Values of an entity's webhook.
const (
	hookInstall = "install"
	hookManual  = "manual"
)

// entityKind makes the row of one of the three, whose paths and fields are alike.
func entityKind(name, plural, help string) *Kind {
	fields := []Field{
		{Name: "name", Required: true, Ours: true, Valid: validEntity, Help: "its name at the forge"},
		{Name: "forge", Ours: true, Choices: []string{gitHub, gitea}, Help: "github or gitea, where both have credentials of that name"},
		{Name: "credentials", Required: true, Wire: "credentials_name", Valid: validTitle, Help: "name of the credentials that garm uses for it"},
		{Name: "webhook_secret", Type: Secret, Ours: true, Help: "what the forge signs its webhooks with; left out: a random one is made"},
		{Name: "pool_balancer_type", Seen: "pool_balancing_type", Choices: []string{"roundrobin", "pack"}, Help: "how jobs are spread over pools: roundrobin or pack"},
		{Name: "agent_mode", Type: Bool, Help: "runners use garm's agent"},
	}
	if name == "repository" {
		fields = append([]Field{{Name: "owner", Required: true, Ours: true, Valid: validEntity, Help: "who it belongs to at the forge"}}, fields...)
	}
	if name != "enterprise" {
		fields = append(fields, Field{Name: "webhook", Ours: true, Choices: []string{hookInstall, hookManual},
			Help: "install: garm installs it at the forge; manual: you do, with webhook_secret; left out: there is none, or it is nobody's business"})
	}
	forge := ""
	if name == "enterprise" {
		forge = gitHub
	}
	return &Kind{
		Name: name, Help: help, Fields: fields, AsksForge: true, forge: forge,
		lists: []listing{{path: "/" + plural}},
		named: func(d *declarer, o *Object, t table) { nameEntity(d, o, t) },
		key: func(t *target) string {
			if t.Endpoint == "" && t.Credentials != "" {
				return "" // which credentials these are, only the server can tell
			}
			return entityKey(name, t.Endpoint, t.Name)
		},
		needs: func(t *target) []string { return []string{credentialsKey(t.Forge, t.Credentials)} },
		identify: func(a *Actual, raw map[string]any) {
			a.Name = pickText(raw, "name")
			if owner := pickText(raw, "owner"); owner != "" {
				a.Name = owner + "/" + a.Name
			}
			a.ID, a.Endpoint, a.Forge = pickText(raw, "id"), pickText(raw, "endpoint.name"), pickText(raw, "endpoint.endpoint_type")
			if a.Endpoint == "" {
				a.Endpoint = gitHubEndpoint // before garm v0.1.5 there was no other
			}
			if a.Forge == "" {
				a.Forge = gitHub
			}
			a.Key = entityKey(name, a.Endpoint, a.Name)
		},
		within: func(*execution, *target) (string, error) { return "/" + plural, nil },
		member: func(a *Actual) string { return "/" + plural + "/" + url.PathEscape(a.ID) },
		complete: func(_ *execution, t *target, a *Actual, body map[string]any) error {
			if a == nil {
				completeEntity(t, body)
			}
			return nil
		},
		secret: func(t *target) map[string]any {
			if s := t.secrets["webhook_secret"]; s != "" {
				return map[string]any{"webhook_secret": s}
			}
			return nil
		},
		export: exportEntity,
		delete: deleteEntity,
	}
}

// nameEntity names an entity and adds the webhook that it declares.
func nameEntity(d *declarer, o *Object, t table) {
	o.Name, _ = t.keys["name"].(string)
	if owner, _ := t.keys["owner"].(string); owner != "" {
		o.Name = owner + "/" + o.Name
	}
	o.Forge, _ = t.keys["forge"].(string)
	o.Credentials, _ = t.keys["credentials"].(string)
	switch hook := o.text("webhook"); {
	case hook == hookManual && !keyStarts(t, "webhook_secret"):
		d.faults.add(t.at("webhook"), "%s: a webhook that you install yourself needs webhook_secret_file: what the forge signs with", o.Label())
	case hook == hookInstall:
		d.out.Objects = append(d.out.Objects, &Object{Kind: webhookKind, Place: t.at("webhook"), Parent: o,
			Values: map[string]any{}, places: map[string]Place{}, secrets: map[string]string{}})
	}
}

// exportEntity prints the names of an entity, and its webhook where the forge has it.
func exportEntity(e *exporter, p *printed, a *Actual) {
	p.values["name"] = a.Name
	if owner, name, ok := strings.Cut(a.Name, "/"); ok {
		p.values["owner"], p.values["name"] = owner, name
	}
	credentials, _ := a.Values["credentials"].(string)
	other := map[string]string{gitHub: gitea, gitea: gitHub}[a.Forge]
	if len(e.observed.byKey[credentialsKey(other, credentials)]) > 0 {
		p.values["forge"] = a.Forge
	}
	p.optional = []string{"webhook_secret"}
	if _, hooks := a.Kind.field("webhook"); hooks && e.hook(a) {
		p.values["webhook"] = hookInstall
	}
}

func entityKey(kind, endpoint, name string) string {
	return kind + "/" + endpoint + "/" + strings.ToLower(name)
}

// completeEntity fills in what garm requires of a new entity.
func completeEntity(t *target, body map[string]any) {
	body["name"] = t.Name
	if owner, name, ok := strings.Cut(t.Name, "/"); ok {
		body["owner"], body["name"] = owner, name
	}
	if t.Kind.forge == "" { // an enterprise is GitHub's, which garm does not ask
		body["forge_type"] = t.Forge
	}
	if t.secrets["webhook_secret"] == "" {
		random := make([]byte, 24)
		_, _ = rand.Read(random) // it never fails (crypto/rand)
		body["webhook_secret"] = base64.RawURLEncoding.EncodeToString(random)
	}
}

// deleteEntity leaves a webhook at the forge that is not ours: garm would remove it too. Ours is gone by now.
func deleteEntity(x *execution, a *Actual) (bool, error) {
	return true, x.remove(a, url.Values{"keepWebhook": {"true"}})
}
