package garmconfig

// What provisioning has to know of a config.

// ProviderNames are the names of the [[provider]] sections.
func (c *Config) ProviderNames() []string { return namesIn(c.root, "provider") }

// LegacyCredentials are the names of the [[github]] sections, which garm up to v0.2.1 imports into a database that has an
// admin and no credentials table yet, and never again (v0.2.1, database/sql: migrateCredentialsToDB).
func (c *Config) LegacyCredentials() []string { return namesIn(c.root, "github") }

// ManagesWebhooks reports whether garm installs webhooks at a forge: enable_webhook_management in [default].
func (c *Config) ManagesWebhooks() bool {
	section, _ := c.root.get("default")
	entries, _ := section.(map[string]any)
	managed, _ := table(entries).get("enable_webhook_management")
	return managed == true
}

func namesIn(root table, key string) []string {
	value, _ := root.get(key)
	sections, _ := value.([]map[string]any)
	var names []string
	for _, section := range sections {
		name, _ := table(section).get("name")
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}
