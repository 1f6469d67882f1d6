package provision

import (
	"context"
	"errors"
	"net/http"

	"garm-entrypoint/entrypoint/garmapi"
)

// webhookKind is the webhook of a repository or organization that garm installs at the forge. garm keeps none of its
// own: whether it is there only the forge knows, so what we installed is remembered, with the URL it was for.
var webhookKind = &Kind{
	Name: "webhook", In: []string{"repository", "organization"}, Derived: true, AsksForge: true,
	Help:  "what webhook = \"install\" declares",
	key:   func(t *target) string { return t.parent.Key + webhookSuffix },
	needs: func(t *target) []string { return []string{t.parent.Key} },
	create: func(x *execution, t *target) (string, error) {
		entity := x.actuals[t.parent.Key]
		err := x.do(garmapi.Request{Op: "install " + t.Label(), Method: http.MethodPost, Path: entity.Kind.member(entity) + "/webhook",
			Body: map[string]any{"webhook_endpoint_type": "direct"}, Timeout: x.forgeLimit()})
		if garmapi.NotRouted(err) {
			return "", errors.New("this server manages no webhooks: set enable_webhook_management = true in [default] of its config.toml")
		}
		if err != nil && !alreadyInstalled(err) {
			return "", err
		}
		x.memory.put(t.Key, Remembered{Stamp: x.observed.WebhookURL})
		return t.Key, nil
	},
	delete: func(x *execution, a *Actual) (bool, error) {
		err := x.do(garmapi.Request{Op: "remove " + a.Label(), Method: http.MethodDelete, Path: a.parent.Kind.member(a.parent) + "/webhook", Timeout: x.forgeLimit()})
		if garmapi.Is(err, http.StatusNotFound) {
			err = nil
		}
		return true, err
	},
	member: func(a *Actual) string { return a.parent.Kind.member(a.parent) + "/webhook" },
}

// webhookSuffix makes the key of a webhook of its entity's.
const webhookSuffix = "/webhook"

// alreadyInstalled reports garm's refusal of a second one (v0.2.1: 409).
func alreadyInstalled(err error) bool {
	a, garm := garmapi.FromGarm(err)
	return garm && a.Code == http.StatusConflict
}

// webhooks adds those that are there: remembered for the server's present URL, or, where nothing is remembered, found
// at the forge. A forge that does not answer leaves it open: then it is installed again, which is harmless.
func (o *Observed) webhooks(ctx context.Context, api API, declared *Declared, memory *Memory) {
	targets, _ := resolve(declared, o)
	for _, t := range targets {
		if t.Kind == webhookKind && t.Key != "" && memory.Objects[t.Key].Stamp == "" {
			if entities := o.byKey[t.parent.Key]; len(entities) == 1 && o.hookAtForge(ctx, api, entities[0]) {
				memory.put(t.Key, Remembered{Stamp: o.WebhookURL})
			}
		}
	}
	for _, entity := range append([]*Actual(nil), o.all...) {
		key := entity.Key + webhookSuffix
		if stamp := memory.Objects[key].Stamp; stamp != "" && stamp == o.WebhookURL {
			o.add(&Actual{Kind: webhookKind, Key: key, ID: key, ParentKey: entity.Key, parent: entity, Values: map[string]any{}})
		}
	}
}

// hookAtForge asks the forge, through garm, for our webhook.
func (o *Observed) hookAtForge(ctx context.Context, api API, entity *Actual) bool {
	var hook struct{ URL string }
	err := api.Do(ctx, garmapi.Request{Op: "look for the webhook of " + entity.Label(), Method: http.MethodGet,
		Path: entity.Kind.member(entity) + "/webhook", Into: &hook, Timeout: forgeTimeout})
	return err == nil && hook.URL == o.WebhookURL
}
