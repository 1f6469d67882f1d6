package garmapi

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// maxReason is how much of a server's own words is shown, in bytes.
const maxReason = 300

// redact returns a server's text fit for a log: shortened, and without the secrets, which a hostile or broken server
// may echo in any of these forms.
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

// secrets are those that a server has been told, so that it may echo them in any later answer.
type secrets struct {
	mutex sync.Mutex
	all   []string
}

// add remembers a secret and returns all.
func (s *secrets) add(secret string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if secret != "" && !slices.Contains(s.all, secret) {
		s.all = append(s.all, secret)
	}
	return slices.Clone(s.all)
}

// and returns all, and those that only one request holds.
func (s *secrets) and(others ...string) []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append(slices.Clone(s.all), others...)
}
