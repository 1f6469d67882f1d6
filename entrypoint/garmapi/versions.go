package garmapi

import (
	"context"

	garmparams "github.com/cloudbase/garm/params"
)

// Everything about calls that depends on the server's version stands in this file; what it means for the initialised
// state stands in the initialiser's file of the same name. It is decided by what the server shows, never by its version
// string, which is v0.0.0-unknown or empty in many builds.
//
//	v0.1.4   /controller is not there: ReadController.
//	v0.1.x   answers 401 to whoever comes before there is an admin: RefusesToken.
//	v0.2.x   says init_required to everything then, also when it cannot read its database: RefusesToken.

const (
	// ControllerPath: v0.1.5 and later; needs no URLs, so it comes first.
	ControllerPath = "/controller"
	// LegacyControllerPath: all versions up to v0.2.1; from v0.1.5 on it answers 409 urls_required until the URLs are
	// set, before it looks at the token, which lets an anonymous client read the state.
	LegacyControllerPath = "/controller-info"
)

// Words of garm's in Error.Kind and Error.Details (apiserver/params, auth and apiserver/controllers of v0.1.4 to
// v0.2.1).
const (
	// KindInitRequired: the server has no admin (v0.2.x).
	KindInitRequired = "init_required"
	// KindURLsRequired: the controller has not the URLs that this server wants before it serves (v0.1.5 and later).
	KindURLsRequired = "urls_required"
	// NoSuchPath is what v0.1.4 to v0.2.1 say to a path that they do not know.
	NoSuchPath = "Resource not found"
	// AlreadyInitialized is every garm's answer to a first run when it has an admin.
	AlreadyInitialized = "already initialized"
	// WeakPassword is garm's verdict on a password in a first run.
	WeakPassword = "password is too weak"
)

// verdicts are garm's words on a first run.
var verdicts = []string{WeakPassword, "invalid username", "invalid email address", "missing username or email", AlreadyInitialized}

// gatesWord reports that garm itself, and no echo, said this.
func gatesWord(kind string) bool { return kind == KindInitRequired || kind == KindURLsRequired }

// NotRouted reports garm's answer to a path that it does not know, which looks like the one to something that is gone
// (the controller's row, a pool) but for the words. Another 404 is a proxy's.
func NotRouted(err error) bool {
	a, garm := FromGarm(err)
	return garm && a.Code == 404 && a.Details == NoSuchPath
}

// RefusesToken reports that a token, or the admin whom it is for, is no more.
func RefusesToken(err error) bool {
	a, garm := FromGarm(err)
	return garm && (a.Code == 401 || a.Kind == KindInitRequired)
}

// ReadController reads the controller where this server has it. settable is false on v0.1.4, whose controller has no
// URLs of its own: it shows those of its config file.
func (c *Client) ReadController(ctx context.Context, token string) (info garmparams.ControllerInfo, settable bool, err error) {
	if c.olderPath.Load() {
		// Known from an earlier look, which saves a request per look. Whatever is not v0.1.4's answer, which states no
		// version, is looked into anew.
		info, err = c.Controller(ctx, LegacyControllerPath, token)
		if err == nil && info.Version == "" {
			return info, false, nil
		}
		c.olderPath.Store(false)
	}
	info, err = c.Controller(ctx, ControllerPath, token)
	if NotRouted(err) {
		info, err = c.Controller(ctx, LegacyControllerPath, token)
		c.olderPath.Store(err == nil && info.Version == "")
		return info, false, err
	}
	return info, true, err
}

// nobodysToken is what a stranger shows. Without any token garm answers the same, but writes an ERROR line each time
// (auth/jwt.go), and a health check comes every few seconds.
const nobodysToken = "anonymous"

// Knock asks as a stranger for what stands behind all of garm's gates. nil is no answer of garm's: it serves strangers.
func (c *Client) Knock(ctx context.Context) error {
	_, err := c.Controller(ctx, LegacyControllerPath, nobodysToken)
	return err
}
