package initializer

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	garmutil "github.com/cloudbase/garm-provider-common/util"
	garmparams "github.com/cloudbase/garm/params"
)

// Controller is what the initialiser sets in garm's controller. Empty fields are left alone.
type Controller struct {
	MetadataURL string
	CallbackURL string
	WebhookURL  string
	AgentURL    string
	// CABundle holds PEM certificates that the controller hands to runners.
	CABundle []byte
}

// Change of one field of the controller. The CA bundle is shown by its size.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// Derive returns the four URLs of a server that is reached at base, as garm-cli v0.2.1 derives them (its init command,
// and url.JoinPath's single slashes). The agent's is not derived by garm-cli; garm's router has it at /agent.
func Derive(base string) (Controller, error) {
	var c Controller
	for _, t := range []struct {
		to   *string
		path string
	}{
		{&c.MetadataURL, "api/v1/metadata"},
		{&c.CallbackURL, "api/v1/callbacks"},
		{&c.WebhookURL, "webhooks"},
		{&c.AgentURL, "agent"},
	} {
		joined, err := url.JoinPath(base, t.path)
		if err != nil {
			return Controller{}, fmt.Errorf("cannot derive the controller URLs from %q: %w", base, err)
		}
		*t.to = joined
	}
	return c, nil
}

// Validate is stricter than garm, which asks for some scheme and some host only: a URL that no runner can use shows up
// as runners that never report.
func (c Controller) Validate() error {
	var faults []error
	for _, f := range c.urls() {
		if *f.value == "" {
			continue
		}
		if err := CheckURL(*f.value); err != nil {
			faults = append(faults, fmt.Errorf("cannot use the %s: %w", f.name, err))
		}
	}
	if len(c.CABundle) > 0 {
		// garm drops garbage silently and answers 200.
		clean, err := garmutil.SanitizeCABundle(c.CABundle)
		if err != nil {
			faults = append(faults, fmt.Errorf("cannot use the CA bundle: %w", err))
		} else if len(clean) == 0 {
			faults = append(faults, errors.New("cannot use the CA bundle: it holds no PEM certificate"))
		}
	}
	return errors.Join(faults...)
}

// CheckURL says why runners or the forge could not use a URL. A URL that may hold a password is not shown.
func CheckURL(raw string) error {
	shown := strconv.Quote(raw)
	if strings.Contains(raw, "@") {
		shown = "it"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a URL", shown)
	case u.User != nil:
		return errors.New("it must not hold a user or password")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s must begin with http:// or https://", shown)
	case u.Hostname() == "":
		return fmt.Errorf("%s names no host", shown)
	case strings.ContainsAny(raw, " \t\r\n"):
		return fmt.Errorf("%s must not hold blanks", shown)
	case strings.HasSuffix(u.Host, ":") || u.Port() != "" && !validPort(u.Port()):
		return fmt.Errorf("%s must have a port from 1 to 65535, or none", shown)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return fmt.Errorf("%s must not hold a query or fragment", shown)
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

type urlField struct {
	name  string
	value *string
}

func (c *Controller) urls() []urlField {
	return []urlField{
		{"metadata URL", &c.MetadataURL},
		{"callback URL", &c.CallbackURL},
		{"webhook URL", &c.WebhookURL},
		{"agent URL", &c.AgentURL},
	}
}

// placeholder reports whether a URL is one that garm-operator writes on any 409 from the controller, to be replaced
// later by whoever knows better (garm-operator's https://initial.metadata.garm.local and siblings).
func placeholder(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && strings.HasPrefix(u.Hostname(), "initial.") && strings.HasSuffix(u.Hostname(), ".garm.local")
}

func vacant(url string) bool { return url == "" || placeholder(url) }

// held is the part of a server's controller that we compare.
func held(info garmparams.ControllerInfo) Controller {
	return Controller{
		MetadataURL: info.MetadataURL,
		CallbackURL: info.CallbackURL,
		WebhookURL:  info.WebhookURL,
		AgentURL:    info.AgentURL,
		CABundle:    info.CACertBundle,
	}
}

// target returns what the controller shall hold: want; where that is silent, fallback, but only in fields that hold
// nothing; the rest as it is. With onlyVacant want too fills vacant fields only, which is how watching leaves alone
// what people set by hand.
func target(want, fallback, have Controller, onlyVacant bool) Controller {
	t := have
	wanted, fallen, current := want.urls(), fallback.urls(), have.urls()
	for n, f := range t.urls() {
		switch empty := vacant(*current[n].value); {
		case *wanted[n].value != "" && (empty || !onlyVacant):
			*f.value = *wanted[n].value
		case *fallen[n].value != "" && empty:
			*f.value = *fallen[n].value
		}
	}
	if len(want.CABundle) > 0 && (len(have.CABundle) == 0 || !onlyVacant) {
		t.CABundle = want.CABundle
	}
	return t
}

// compare lists what has to change in have to make it to.
func compare(to, have Controller) []Change {
	var changes []Change
	current := have.urls()
	for n, f := range to.urls() {
		if *f.value != *current[n].value {
			changes = append(changes, Change{Field: f.name, From: *current[n].value, To: *f.value})
		}
	}
	if !bytes.Equal(sanitized(to.CABundle), sanitized(have.CABundle)) {
		changes = append(changes, Change{Field: "CA bundle",
			From: fmt.Sprintf("%d bytes", len(have.CABundle)), To: fmt.Sprintf("%d bytes", len(to.CABundle))})
	}
	return changes
}

// update is the smallest PUT that makes have to: only what differs.
func update(to, have Controller) garmparams.UpdateControllerParams {
	var u garmparams.UpdateControllerParams
	set := func(to, have string, field **string) {
		if to != have {
			*field = &to
		}
	}
	set(to.MetadataURL, have.MetadataURL, &u.MetadataURL)
	set(to.CallbackURL, have.CallbackURL, &u.CallbackURL)
	set(to.WebhookURL, have.WebhookURL, &u.WebhookURL)
	set(to.AgentURL, have.AgentURL, &u.AgentURL)
	if !bytes.Equal(sanitized(to.CABundle), sanitized(have.CABundle)) {
		u.CACertBundle = sanitized(to.CABundle)
	}
	return u
}

// sanitized is a bundle in the form that garm gives it before it is stored.
func sanitized(bundle []byte) []byte {
	clean, err := garmutil.SanitizeCABundle(bundle)
	if err != nil {
		return bundle
	}
	return clean
}

// Changes is a list of changes that reads well in a log line.
type Changes []Change

func (c Changes) String() string {
	var text strings.Builder
	for n, change := range c {
		if n > 0 {
			text.WriteString(", ")
		}
		fmt.Fprintf(&text, "%s %q → %q", change.Field, change.From, change.To)
	}
	return text.String()
}
