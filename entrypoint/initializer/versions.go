package initializer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	garmparams "github.com/cloudbase/garm/params"
)

// Everything that depends on the server's version stands in this file. It is
// decided by what the server shows, never by its version string, which is
// v0.0.0-unknown or empty in many builds.
//
//	v0.1.4   /controller is not there: readController. The URLs are those of its
//	         config file: supported. Of several first runs at once all win, and
//	         each makes an admin, so who sent one has to log in: createAdmin.
//	v0.1.5   wants the webhook URL too before it serves: wantsURLs.
//	v0.1.x   does not say that it has no admin: lacksAdmin, state. Takes an agent
//	         URL or a CA bundle, answers 200, and forgets it: supported. Without
//	         its controller's row it says that it has no admin: controllerGone.
//	v0.2.x   says init_required to everything, also when it cannot read its
//	         database: taken.
//	later    (the development head, read only) does not copy the URLs of
//	         [default] into an empty controller: Options.Fallback does.

const (
	// controllerPath: v0.1.5 and later; needs no URLs, so it comes first.
	controllerPath = "/controller"
	// legacyControllerPath: all versions up to v0.2.1; from v0.1.5 on it
	// answers 409 urls_required until the URLs are set, before it looks at the
	// token, which lets an anonymous client read the state.
	legacyControllerPath = "/controller-info"
)

// garm's error fields (apiserver/params of v0.1.5 to v0.2.1).
const (
	kindInitRequired = "init_required"
	kindURLsRequired = "urls_required"
)

// gatesWord reports that garm itself, and no echo, said this.
func gatesWord(kind string) bool { return kind == kindInitRequired || kind == kindURLsRequired }

// noSuchPath is what v0.1.4 to v0.2.1 say to a path that they do not know.
const noSuchPath = "Resource not found"

// readController reads the controller where this server has it. settable is
// false on v0.1.4, whose controller has no URLs of its own: it shows those of
// its config file.
func (c *client) readController(ctx context.Context, token string) (info garmparams.ControllerInfo, settable bool, err error) {
	if c.olderPath {
		// Known from an earlier look, which saves a request per look. Whatever
		// is not v0.1.4's answer, which states no version, is looked into anew.
		info, err = c.Controller(ctx, legacyControllerPath, token)
		if err == nil && info.Version == "" {
			return info, false, nil
		}
		c.olderPath = false
	}
	info, err = c.Controller(ctx, controllerPath, token)
	if notRouted(err) {
		info, err = c.Controller(ctx, legacyControllerPath, token)
		c.olderPath = err == nil && info.Version == ""
		return info, false, err
	}
	return info, true, err
}

// notRouted reports garm's answer to a path that it does not know, which looks
// like the one to something that is gone (the controller's row) but for the
// words. Another 404 is a proxy's.
func notRouted(err error) bool {
	a, garm := fromGarm(err)
	return garm && a.Code == 404 && a.Details == noSuchPath
}

// alreadyInitialized is every garm's answer to a first run when it has an admin.
const alreadyInitialized = "already initialized"

// supported drops from a wish what this server cannot hold, and names it.
// v0.1.x answers 200 to fields that it does not know and forgets them;
// v0.2.0 and later always state a release URL for the agent.
func supported(wish Controller, info garmparams.ControllerInfo, settable bool) (Controller, []string) {
	var missing []string
	drop := func(what string) { missing = append(missing, what) }
	if !settable {
		have := held(info)
		current := have.urls()
		for n, f := range wish.urls() {
			if *f.value != *current[n].value {
				if *f.value != "" {
					drop(f.name)
				}
				*f.value = ""
			}
		}
	} else if info.GARMAgentReleasesURL == "" && wish.AgentURL != "" {
		drop("agent URL")
		wish.AgentURL = ""
	}
	if info.GARMAgentReleasesURL == "" && len(wish.CABundle) > 0 {
		drop("CA bundle")
		wish.CABundle = nil
	}
	return wish, missing
}

// lacksURLs reports that a controller has not the URLs that every version
// wants.
func lacksURLs(c Controller) bool { return vacant(c.MetadataURL) || vacant(c.CallbackURL) }

// wantsURLs reports whether a server that has those wants more. v0.1.5 serves
// next to nothing until it has a webhook URL as well, and does not say so
// where we look, so a server without one is asked.
func (c *client) wantsURLs(ctx context.Context, token string, held Controller) (bool, error) {
	if held.WebhookURL != "" {
		return false, nil
	}
	_, err := c.Controller(ctx, legacyControllerPath, token)
	a, garm := fromGarm(err)
	switch {
	case garm && a.Kind == kindURLsRequired:
		return true, nil
	case notRouted(err):
		return false, nil
	}
	return false, err
}

// refusesToken reports that a token, or the admin whom it is for, is no more.
func refusesToken(err error) bool {
	a, garm := fromGarm(err)
	return garm && (a.Code == 401 || a.Kind == kindInitRequired)
}

// lacksAdmin reports a failed login that a first run may cure: v0.1.x answers
// 401 to a login while it has no admin, v0.2.x 409 init_required.
func lacksAdmin(err error) bool {
	return errors.Is(err, errNoPassword) || refusesToken(err)
}

// taken reports the answers to a first run that mean "somebody has an admin
// already": 409, and the two of a lost race, 400 "… already exists" and 404.
// A 409 may also come from a broken users table, so the login decides.
func taken(err error) bool {
	a, garm := fromGarm(err)
	return garm && !notRouted(err) && (a.Code == 409 || a.Code == 404 || a.Code == 400 && strings.Contains(a.Details, "already exists"))
}

// controllerGone reports that a server has an admin, and says that it has none:
// v0.1.x looks for its controller's row to tell, which garm makes at its start.
// v0.2.x finds no admin either when it cannot read its database.
func controllerGone(firstRun, login error) bool {
	run, garm := fromGarm(firstRun)
	gate, said := fromGarm(login)
	return garm && run.Code == 409 && run.Details == alreadyInitialized && said && gate.Kind == kindInitRequired
}

// nobodysToken is what a stranger shows. Without any token garm answers
// the same, but writes an ERROR line each time (auth/jwt.go), and a health check
// comes every few seconds.
const nobodysToken = "anonymous"

// knock asks as a stranger for what stands behind all of garm's gates.
func (c *client) knock(ctx context.Context) error {
	_, err := c.Controller(ctx, legacyControllerPath, nobodysToken)
	return err
}

// state reads the state as a stranger, and changes nothing.
//
// v0.2.x says init_required by itself. v0.1.x does not, so it is asked with an
// empty first run, which every version refuses: with 409 when there is an
// admin, with 400 "missing username or email" when there is none. v0.1.4 has no
// gate for URLs: it is complete as soon as it has an admin.
func (c *client) state(ctx context.Context) (State, error) {
	err := c.knock(ctx)
	gate, garm := fromGarm(err)
	switch {
	case err == nil:
		return Complete, errors.New("controller: the server answers strangers: is this garm?")
	case !garm:
		return NoAdmin, err
	case gate.Kind == kindInitRequired:
		return NoAdmin, nil
	}
	err = c.FirstRun(ctx, Credentials{})
	empty, answered := fromGarm(err)
	switch {
	case err == nil:
		return NoAdmin, errors.New("first run: the server accepts an empty one: is this garm?")
	case !answered:
		return NoAdmin, err
	case empty.Code == 400:
		return NoAdmin, nil
	case empty.Code != 409:
		return NoAdmin, fmt.Errorf("cannot tell whether the server has an admin: %w", err)
	case gate.Kind == kindURLsRequired:
		return NoURLs, nil
	}
	return Complete, nil
}
