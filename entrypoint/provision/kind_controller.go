package provision

import (
	"net/http"

	"garm-entrypoint/entrypoint/garmapi"
)

// controllerKind is the server's own settings: there is one, and it can be neither created nor deleted.
var controllerKind = &Kind{
	Name: "controller", Single: true,
	Help: "settings of the server itself",
	Fields: []Field{
		{Name: "metadata_url", Valid: validURL, Help: "where runners fetch what they need to set themselves up; GARM_BASE_URL is the usual way to say it"},
		{Name: "callback_url", Valid: validURL, Help: "where runners report to"},
		{Name: "webhook_url", Valid: validURL, Help: "base of the URL that the forge sends its webhooks to"},
		{Name: "agent_url", Valid: validURL, Help: "where garm's agents connect"},
		{Name: "garm_agent_releases_url", Valid: validURL, Help: "where the server fetches garm's agent"},
		{Name: "enable_agent_tools_sync", Type: Bool, Help: "the server keeps garm's agent in step with its releases"},
		{Name: "minimum_job_age_backoff", Type: Number, Help: "seconds that a job waits before a pool without idle runners reacts"},
		{Name: "ca_cert_file", Type: File, Wire: "ca_cert_bundle", Valid: validPEM, Help: "PEM file of the CA certificates that runners are handed"},
	},
	lists: []listing{{path: garmapi.ControllerPath, older: garmapi.LegacyControllerPath}},
	key:   func(*target) string { return "controller" },
	identify: func(a *Actual, raw map[string]any) {
		a.Key, a.ID = "controller", pickText(raw, "controller_id")
		a.observed.ControllerID, a.observed.Version = a.ID, pickText(raw, "version")
		a.observed.WebhookURL = pickText(raw, "controller_webhook_url")
	},
	member:  func(*Actual) string { return "/controller" },
	builtin: func(*Actual) bool { return true },
}

// update sends a PUT with what differs.
func update(x *execution, a *Actual, body map[string]any) error {
	return x.do(garmapi.Request{Op: "update " + a.Label(), Method: http.MethodPut, Path: a.Kind.member(a), Body: body})
}
