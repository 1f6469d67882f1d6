package image

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// ConfigPath is where garm and the upstream image expect the config.
	ConfigPath = "/etc/garm/config.toml"
	// DatabaseFile is the name of the sqlite file in the default config.
	DatabaseFile = "garm.db"
)

const (
	// passphraseLength is garm's rule: the key of AES-256, in bytes.
	passphraseLength = 32
	// secretLength of the jwt secret: 62^43 is more than the 256 bits of HS256.
	secretLength = 43
)

//go:embed config.toml.tmpl
var configTemplate string

// DefaultConfig makes garm's config for a first start: new random secrets, the database in dir (an absolute path), the
// API on every address. Each call gives other secrets. It fails for a dir that garm or TOML cannot express.
func DefaultConfig(dir string) ([]byte, error) {
	file := filepath.Join(dir, DatabaseFile)
	switch {
	case !filepath.IsAbs(dir):
		return nil, fmt.Errorf("cannot put the database in %q: garm wants an absolute path", dir)
	case !utf8.ValidString(dir):
		return nil, fmt.Errorf("cannot put the database in %q: a path in TOML must be UTF-8", dir)
	case strings.Contains(dir, "?"):
		return nil, fmt.Errorf("cannot put the database in %q: garm takes what follows a question mark for options", dir)
	}
	// One pass: nothing that is filled in is looked at again.
	return []byte(strings.NewReplacer(
		"@JWT_SECRET@", quote(randomText(secretLength)),
		"@PASSPHRASE@", quote(randomText(passphraseLength)),
		"@DB_FILE@", quote(file),
	).Replace(configTemplate)), nil
}

// randomText is n letters and digits, each with equal chance. Among them no quoting is ever needed.
func randomText(n int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	text := make([]byte, 0, n)
	for block := make([]byte, 2*n); len(text) < n; {
		_, _ = rand.Read(block) // never fails, by its contract
		for _, b := range block {
			if int(b) < len(alphabet)*4 && len(text) < n {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(text)
}

// quote writes a TOML basic string: as in Go, but TOML knows fewer escapes.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\U%08X`, r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
