package provision

import "net/url"

// credentialsKind is how garm logs in at a forge. Names are per forge, so both may have the same.
var credentialsKind = &Kind{
	Name: "credentials",
	Help: "how garm logs in at a forge: a token, or a GitHub App",
	Fields: []Field{
		{Name: "name", Required: true, Ours: true, Valid: validTitle, Help: "its key, within its forge"},
		{Name: "endpoint", Required: true, Seen: "endpoint.name", Valid: validName, Help: "the forge that they are for",
			Fixed: "garm moves no credentials to another endpoint: declare them under another name"},
		{Name: "description", Help: "for people"},
		{Name: "token", Type: Secret, Ours: true, Help: "a personal access token"},
		{Name: "app_id", Type: Number, Ours: true, Forge: gitHub, Help: "of a GitHub App, with installation_id and private_key_file"},
		{Name: "installation_id", Type: Number, Ours: true, Forge: gitHub, Help: "of that App"},
		{Name: "private_key", Type: Secret, Ours: true, Forge: gitHub, Valid: validRSAKey, Help: "of that App: PEM, PKCS #1"},
	},
	// Up to v0.1.4 they are sections of config.toml.
	lists: []listing{{path: "/github/credentials", forge: gitHub, older: "/credentials"}, {path: "/gitea/credentials", forge: gitea}},
	named: func(d *declarer, o *Object, t table) {
		o.Name, _ = t.keys["name"].(string)
		o.Endpoint, _ = t.keys["endpoint"].(string)
		token, app := keyStarts(t, "token"), keyStarts(t, "app_id") || keyStarts(t, "installation_id") || keyStarts(t, "private_key")
		_, id := t.keys["app_id"]
		_, installation := t.keys["installation_id"]
		switch {
		case token && app:
			d.faults.add(o.Place, "credentials %s: a token and an App: declare one of them", o.Name)
		case app && id && installation && (t.keys["app_id"] == int64(0) || t.keys["installation_id"] == int64(0)):
			d.lacks(o, o.Place, "credentials %s: app_id and installation_id must be those of the App, not 0", o.Name)
		case app && !(id && installation && keyStarts(t, "private_key")):
			d.faults.add(o.Place, "credentials %s: an App needs app_id, installation_id and private_key_file", o.Name)
		case !token && !app:
			d.faults.add(o.Place, "credentials %s need token_file (or token_env), or app_id, installation_id and private_key_file", o.Name)
		}
	},
	key: func(t *target) string {
		if t.Forge == "" {
			return ""
		}
		return credentialsKey(t.Forge, t.Name)
	},
	needs: func(t *target) []string { return []string{endpointKey(t.Endpoint)} },
	identify: func(a *Actual, raw map[string]any) {
		if forge := pickText(raw, "forge_type"); forge != "" && forge != a.Forge {
			return
		}
		a.Name, a.ID = pickText(raw, "name"), numberText(raw, "id")
		a.Endpoint, a.Key = pickText(raw, "endpoint.name"), credentialsKey(a.Forge, a.Name)
		if a.Endpoint == "" {
			a.Endpoint = gitHubEndpoint // before garm v0.1.5 there was no other
		}
		a.auth = pickText(raw, "auth-type")
	},
	within: func(_ *execution, t *target) (string, error) { return "/" + t.Forge + "/credentials", nil },
	member: func(a *Actual) string { return "/" + a.Forge + "/credentials/" + url.PathEscape(a.ID) },
	complete: func(_ *execution, t *target, a *Actual, body map[string]any) error {
		if a == nil {
			body["name"], body["endpoint"], body["auth_type"] = t.Name, t.Endpoint, authOf(t)
		}
		return nil
	},
	export: func(e *exporter, p *printed, a *Actual) {
		p.values["name"] = a.Name
		if a.auth == "app" {
			p.values["app_id"], p.values["installation_id"] = unseen, unseen
			e.secret(p, a.Endpoint, "private_key")
		} else {
			e.secret(p, a.Endpoint, "token")
		}
	},
	refuse: func(t *target, a *Actual) string {
		if a.auth != "" && a.auth != authOf(t) {
			return "the server's log in with " + authWords[a.auth] + ", these with " + authWords[authOf(t)] + ": garm changes that of no credentials; declare them under another name"
		}
		return ""
	},
	secret: func(t *target) map[string]any {
		if authOf(t) == "app" {
			return map[string]any{"app": map[string]any{"app_id": t.Values["app_id"],
				"installation_id": t.Values["installation_id"], "private_key_bytes": []byte(t.secrets["private_key"])}}
		}
		return map[string]any{"pat": map[string]any{"oauth2_token": t.secrets["token"]}}
	},
}

func credentialsKey(forge, name string) string { return "credentials/" + forge + "/" + name }

var authWords = map[string]string{"pat": "a token", "app": "an App"}

// authOf is garm's name for the kind of login.
func authOf(t *target) string {
	if _, app := t.Values["app_id"]; app {
		return "app"
	}
	return "pat"
}
