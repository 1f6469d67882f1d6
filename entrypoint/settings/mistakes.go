package settings

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"garm-entrypoint/entrypoint/garmconfig"
)

// Likely mistakes: what is allowed, and yet hardly meant, is a warning; what cannot have been meant is a fault.

// oddEnds says what is odd about the ends of a value, which is used as it is; "": nothing. The value itself is never shown.
func oddEnds(value string) string {
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	switch {
	case len(value) > 1 && first == last && (first == '"' || first == '\''):
		return "has quotes around it, and they are part of it (an env file that the engine reads keeps them)"
	case unicode.IsSpace(first) || unicode.IsSpace(last):
		return "has a blank at its beginning or end, and it is part of it"
	case unicode.IsControl(first) || unicode.IsControl(last):
		return "has a control character at its beginning or end, and it is part of it"
	}
	return ""
}

// appended are the paths that are appended to a base URL: here, by garm-cli, or by garm (v0.2.1, apiserver/routers).
var appended = []string{"/api/v1/metadata", "/api/v1/callbacks", "/api/v1", "/webhooks", "/agent", "/ui"}

// cutAppended returns a URL without a path that is appended to it, and whether there was one.
func cutAppended(raw string) (meant string, found bool) {
	trimmed := strings.TrimRight(raw, "/")
	for _, path := range appended {
		if meant, found = strings.CutSuffix(trimmed, path); found {
			return meant, true
		}
	}
	return raw, false
}

// checkBase refuses a base URL that would be appended to twice.
func checkBase(variable, raw string) error {
	if meant, found := cutAppended(raw); found {
		return fmt.Errorf("cannot use %s: %q ends in what is appended to it: set it to %s", variable, raw, meant)
	}
	return nil
}

// Remarks are about settings that do not go well with garm's config: runners would look for this server where it is not.
func (s *Settings) Remarks(c *garmconfig.Config) []string {
	u, err := url.Parse(s.BaseURL)
	if s.BaseURL == "" || err != nil {
		return nil
	}
	var remarks []string
	if host := u.Hostname(); c.Providers > 0 && isThisHost(host) {
		remarks = append(remarks, "GARM_BASE_URL names "+host+", where only this machine finds this server: runners that the provider starts elsewhere cannot report")
	}
	if u.Scheme == "https" && !c.TLS && u.Port() == strconv.Itoa(c.Port) {
		remarks = append(remarks, "GARM_BASE_URL is https on garm's own port, and "+c.Path+" has no use_tls: garm speaks plain http there")
	}
	return remarks
}

// isThisHost reports a name or address that means another machine on every machine.
func isThisHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
