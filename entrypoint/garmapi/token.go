package garmapi

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// Expires reports whether a token ends within d. A token that does not say when it ends (RFC 7519, section 4.1.4) is
// taken to last.
func Expires(token string, d time.Duration) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil || claims.Exp == 0 {
		return false
	}
	return time.Until(time.Unix(int64(claims.Exp), 0)) < d
}
