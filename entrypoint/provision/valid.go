package provision

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// Rules that garm does not check itself, or too late.

// name of what is part of a URL of garm's API: garm takes "a b/c" and can then be asked for it no more (v0.2.1).
var name = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// maxName bounds names, in bytes: garm's columns hold that much.
const maxName = 64

func validName(v any) error {
	s := v.(string)
	if len(s) > maxName || !name.MatchString(s) {
		return fmt.Errorf("%q: letters, digits, dot, dash and underscore only, at most %d, a letter or digit first", s, maxName)
	}
	return nil
}

// validTitle is the name of what garm is asked for by its id: any text of one line.
func validTitle(v any) error {
	s := v.(string)
	if s == "" || len(s) > maxTitle || s != strings.TrimSpace(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%q: one line of at most %d bytes, not empty, no blanks around it", s, maxTitle)
	}
	return nil
}

// maxTitle bounds such names, in bytes.
const maxTitle = 255

// maxPrefix bounds a pool's name in bytes: garm makes it the beginning of its runners' names, which become host names
// of 63 bytes at most (RFC 1123) with a dash and 12 characters behind.
const maxPrefix = 50

var prefix = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$`)

func validPrefix(v any) error {
	s := v.(string)
	if len(s) > maxPrefix || !prefix.MatchString(s) {
		return fmt.Errorf("%q: letters, digits and dashes within, at most %d: the runners' host names begin with it", s, maxPrefix)
	}
	return nil
}

// validEntity is a name at a forge.
func validEntity(v any) error {
	s := v.(string)
	if s == "" || len(s) > 255 || strings.ContainsAny(s, "/ \t\n\r") {
		return fmt.Errorf("%q: neither blanks nor slashes, and not empty", s)
	}
	return nil
}

func validURL(v any) error {
	u, err := url.Parse(v.(string))
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("it must begin with http:// or https://")
	case u.Host == "" || u.Hostname() == "":
		return errors.New("it names no host")
	case u.User != nil:
		return errors.New("it must hold no user")
	}
	return nil
}

// validPEM: garm answers 200 to a bundle that is none, and forgets it (v0.2.1).
func validPEM(v any) error {
	data, found := v.([]byte), false
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("it holds a %s, and must hold certificates only", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("it holds a certificate that cannot be parsed: %w", err)
		}
		found = true
	}
	if !found {
		return errors.New("it holds no PEM certificate")
	}
	return nil
}

// validRSAKey is garm's own rule for the key of an App.
func validRSAKey(v any) error {
	block, _ := pem.Decode([]byte(v.(string)))
	if block == nil {
		return errors.New("it is no PEM")
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err != nil {
		return errors.New("it is no RSA private key in PKCS #1, as GitHub hands it out")
	}
	return nil
}

func atLeastOne(v any) error {
	if v.(int64) == 0 {
		return errors.New("it must be at least 1")
	}
	return nil
}

// keyStarts reports whether a key, or a form of it, is in the table.
func keyStarts(t table, key string) bool {
	for k := range t.keys {
		if k == key || k == key+"_file" || k == key+"_env" {
			return true
		}
	}
	return false
}

// numberText is a number of an answer as it stands there.
func numberText(raw map[string]any, field string) string {
	n, _ := pick(raw, field).(json.Number)
	return n.String()
}

// decodeBase64 is what garm makes of bytes; "" when there are none.
func decodeBase64(v any) string {
	s, _ := v.(string)
	data, _ := base64.StdEncoding.DecodeString(s)
	return string(data)
}
