package initializer

import (
	"encoding/json"
	"net/url"
	"strings"
)

// maxReason is how much of a server's own words is shown, in bytes.
const maxReason = 300

// redact returns a server's text fit for a log: shortened, and without the
// secrets, which a hostile or broken server may echo in any of these forms.
func redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		forms := []string{s, url.QueryEscape(s), url.PathEscape(s)}
		if quoted, err := json.Marshal(s); err == nil {
			forms = append(forms, string(quoted[1:len(quoted)-1]))
		}
		for _, form := range forms {
			text = strings.ReplaceAll(text, form, "[secret]")
		}
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}
