package provision

import (
	"net/url"
	"strings"
)

// endpointKind is a forge: where it is and how it is trusted. Both forges share the names (garm v0.2.1: 409).
var endpointKind = &Kind{
	Name: "endpoint",
	Help: "a forge; github.com is built in",
	Fields: []Field{
		{Name: "name", Required: true, Ours: true, Valid: validName, Help: "its key"},
		{Name: "forge", Required: true, Ours: true, Choices: []string{gitHub, gitea}, Help: "github (Enterprise Server too) or gitea"},
		{Name: "description", Help: "for people"},
		{Name: "base_url", Valid: validURL, Help: "where people find the forge; required, but for github.com"},
		{Name: "api_base_url", Valid: validURL, Help: "its API; when created and left out, derived from base_url"},
		{Name: "upload_base_url", Valid: validURL, Forge: gitHub, Help: "where GitHub takes uploads; when created and left out, derived from base_url"},
		{Name: "ca_cert_file", Type: File, Wire: "ca_cert_bundle", Valid: validPEM, Help: "PEM file of the CA certificates that it is trusted by"},
		{Name: "tools_metadata_url", Valid: validURL, Forge: gitea, Help: "where garm finds the list of Gitea's runner releases"},
		{Name: "use_internal_tools_metadata", Type: Bool, Forge: gitea, Help: "garm needs no such list: it makes one itself"},
	},
	lists: []listing{{path: "/github/endpoints", forge: gitHub}, {path: "/gitea/endpoints", forge: gitea}},
	named: func(d *declarer, o *Object, t table) {
		o.Name, _ = t.keys["name"].(string)
		o.Forge, _ = t.keys["forge"].(string)
		if o.Name == gitHubEndpoint && o.Forge == gitea {
			d.faults.add(t.at("forge"), "github.com is built in, and GitHub: use another name for a Gitea")
		}
		if _, ok := t.keys["base_url"]; !ok && o.Name != gitHubEndpoint {
			d.faults.add(o.Place, "endpoint %s needs base_url: where people find the forge", o.Name)
		}
	},
	key: func(t *target) string { return endpointKey(t.Name) },
	identify: func(a *Actual, raw map[string]any) {
		// A server that says which forge an endpoint is of may list it with those of the other.
		if forge := pickText(raw, "endpoint_type"); forge != "" && forge != a.Forge {
			return
		}
		a.Name = pickText(raw, "name")
		a.ID, a.Key, a.Endpoint = a.Name, endpointKey(a.Name), a.Name
	},
	within: func(_ *execution, t *target) (string, error) { return "/" + t.Forge + "/endpoints", nil },
	member: func(a *Actual) string { return "/" + a.Forge + "/endpoints/" + url.PathEscape(a.Name) },
	complete: func(_ *execution, t *target, a *Actual, body map[string]any) error {
		if a == nil {
			body["name"] = t.Name
			derive(body, "api_base_url", t, map[string]string{gitHub: "/api/v3", gitea: ""})
			derive(body, "upload_base_url", t, map[string]string{gitHub: "/api/uploads"})
		}
		return nil
	},
	export: func(_ *exporter, p *printed, a *Actual) { p.values["name"], p.values["forge"] = a.Name, a.Forge },
	// Its URLs are all that garm makes it with (v0.2.1, database/sql: ensureGithubEndpoint).
	untouched: func(a *Actual) bool {
		return a.Name == gitHubEndpoint && a.Values["description"] == "The github.com endpoint" && a.Values["ca_cert_file"] == ""
	},
	builtin: func(a *Actual) bool { return a.Name == gitHubEndpoint },
	frozen: func(f Field, a *Actual) string {
		if strings.HasSuffix(f.Name, "base_url") && a.observed.hasCredentials(a.Name) {
			return "garm changes no URL of an endpoint that credentials use: declare a new endpoint under another name, or delete its credentials first"
		}
		return ""
	},
}

func endpointKey(name string) string { return "endpoint/" + name }

// derive fills in a URL below the base URL, where the forge has one: garm requires it at a creation. The paths are
// GitHub Enterprise Server's.
func derive(body map[string]any, field string, t *target, paths map[string]string) {
	path, known := paths[t.Forge]
	if _, given := body[field]; !given && known {
		body[field] = strings.TrimRight(t.text("base_url"), "/") + path
	}
}

// hasCredentials reports whether credentials use an endpoint.
func (o *Observed) hasCredentials(endpoint string) bool {
	for _, a := range o.all {
		if a.Kind == credentialsKind && a.Endpoint == endpoint {
			return true
		}
	}
	return false
}
