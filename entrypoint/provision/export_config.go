package provision

import (
	"fmt"
	"net/url"
)

// ConfigCredentials is a [[github]] section of garm's config, as garmconfig reads it: credentials of before garm kept
// them in its database.
type ConfigCredentials struct {
	Name, Description string
	// URLs, and the path of a CA bundle, as they stand there; empty: github.com's.
	BaseURL, APIBaseURL, UploadBaseURL, CABundle string
	// App: these are an App's; else they are a token.
	App                   bool
	AppID, InstallationID int64
	PrivateKeyPath        string
}

// filePath is a file's path, where not its content is printed.
type filePath string

// ExportConfig prints [[github]] sections of the config at path as a provision file. Their endpoints get the names that
// garm's own import gives them, those of their hosts (v0.2.1, database/sql: migrateCredentialsToDB).
func ExportConfig(path string, sections []ConfigCredentials) *Exported {
	p := &printer{}
	endpoints := map[string]ConfigCredentials{gitHubEndpoint: {}}
	var credentials []*printed
	for _, s := range sections {
		host := hostOf(s.BaseURL)
		first, known := endpoints[host]
		switch {
		case !known:
			endpoints[host] = s
			p.print(endpointOf(host, s))
		case first.APIBaseURL != s.APIBaseURL || first.UploadBaseURL != s.UploadBaseURL || first.CABundle != s.CABundle:
			p.left = append(p.left, fmt.Sprintf("URLs and CA bundle of %q: there is an endpoint %s already, with others; to have both, declare an endpoint under another name",
				s.Name, host))
		}
		o := &printed{kind: credentialsKind, label: "credentials " + s.Name, header: credentialsKind.Name,
			values: map[string]any{"name": s.Name, "endpoint": host}}
		if s.Description != "" {
			o.values["description"] = s.Description
		}
		if s.App {
			o.values["app_id"], o.values["installation_id"] = s.AppID, s.InstallationID
			o.secrets = map[string]string{"private_key": s.PrivateKeyPath} // a file already
		} else {
			p.secret(o, host, "token")
		}
		credentials = append(credentials, o)
	}
	for _, o := range credentials {
		p.print(o)
	}
	head := "# The [[github]] sections of " + path + ".\n"
	if len(sections) == 0 {
		head = "# There is no [[github]] section in " + path + ".\n"
	}
	return p.finish(head)
}

func hostOf(base string) string {
	if u, err := url.Parse(base); err == nil && u.Hostname() != "" {
		return u.Hostname()
	}
	return gitHubEndpoint
}

func endpointOf(host string, s ConfigCredentials) *printed {
	o := &printed{kind: endpointKind, label: "endpoint " + host, header: endpointKind.Name,
		values: map[string]any{"name": host, "forge": gitHub, "base_url": s.BaseURL}}
	for field, value := range map[string]string{"api_base_url": s.APIBaseURL, "upload_base_url": s.UploadBaseURL} {
		if value != "" {
			o.values[field] = value
		}
	}
	if s.CABundle != "" {
		o.values["ca_cert_file"] = filePath(s.CABundle)
	}
	return o
}
