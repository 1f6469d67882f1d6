package garmconfig

// GitHub is a [[github]] section: credentials as they were declared before garm v0.1.5 kept them in its database. Of the
// token nothing is held here.
type GitHub struct {
	Name, Description string
	// URLs, and the path of a CA bundle, as they stand there; empty: github.com's.
	BaseURL, APIBaseURL, UploadBaseURL, CABundle string
	// App: these are an App's; else they are a token.
	App                   bool
	AppID, InstallationID int64
	PrivateKeyPath        string
}

// GitHub returns the [[github]] sections, in their order (garm v0.2.1, config.Github).
func (c *Config) GitHub() []GitHub {
	value, _ := c.root.get("github")
	sections, _ := value.([]map[string]any)
	all := make([]GitHub, 0, len(sections))
	for _, raw := range sections {
		s := table(raw)
		inner, _ := s.get("app")
		entries, _ := inner.(map[string]any)
		app := table(entries)
		all = append(all, GitHub{
			Name: textAt(s, "name"), Description: textAt(s, "description"),
			BaseURL: textAt(s, "base_url"), APIBaseURL: textAt(s, "api_base_url"), UploadBaseURL: textAt(s, "upload_base_url"),
			CABundle: textAt(s, "ca_cert_bundle"), App: textAt(s, "auth_type") == "app",
			AppID: numberAt(app, "app_id"), InstallationID: numberAt(app, "installation_id"), PrivateKeyPath: textAt(app, "private_key_path"),
		})
	}
	return all
}

func textAt(t table, key string) string {
	value, _ := t.get(key)
	text, _ := value.(string)
	return text
}

func numberAt(t table, key string) int64 {
	value, _ := t.get(key)
	number, _ := value.(int64)
	return number
}
