package initializer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	garmparams "github.com/cloudbase/garm/params"

	"garm-entrypoint/entrypoint/garmapi"
)

// Everything that depends on the server's version stands in this file and, for what a call needs to know, in garmapi's
// file of the same name. It is decided by what the server shows, never by its version string, which is v0.0.0-unknown
// or empty in many builds.
//
//	v0.1.4   The URLs of its controller are those of its config file: supported. Of several first runs at once all win, and
//	         each makes an admin, so who sent one has to log in: createAdmin.
//	v0.1.5   wants the webhook URL too before it serves: wantsURLs.
//	v0.1.x   does not say that it has no admin: lacksAdmin, state. Takes an agent
//	         URL or a CA bundle, answers 200, and forgets it: supported. Without
//	         its controller's row it says that it has no admin: controllerGone.
//	v0.2.x   says init_required to everything, also when it cannot read its
//	         database: taken.
//	later    (the development head, read only) does not copy the URLs of
//	         [default] into an empty controller: Options.Fallback does.

// supported drops from a wish what this server cannot hold, and names it. v0.1.x answers 200 to fields that it does not
// know and forgets them; v0.2.0 and later always state a release URL for the agent.
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

// lacksURLs reports that a controller has not the URLs that every version wants.
func lacksURLs(c Controller) bool { return vacant(c.MetadataURL) || vacant(c.CallbackURL) }

// wantsURLs reports whether a server that has those wants more. v0.1.5 serves next to nothing until it has a webhook
// URL as well, and does not say so where we look, so a server without one is asked.
func wantsURLs(ctx context.Context, c *garmapi.Client, token string, held Controller) (bool, error) {
	if held.WebhookURL != "" {
		return false, nil
	}
	_, err := c.Controller(ctx, garmapi.LegacyControllerPath, token)
	a, garm := garmapi.FromGarm(err)
	switch {
	case garm && a.Kind == garmapi.KindURLsRequired:
		return true, nil
	case garmapi.NotRouted(err):
		return false, nil
	}
	return false, err
}

// lacksAdmin reports a failed login that a first run may cure: v0.1.x answers 401 to a login while it has no admin,
// v0.2.x 409 init_required.
func lacksAdmin(err error) bool {
	return errors.Is(err, garmapi.ErrNoPassword) || garmapi.RefusesToken(err)
}

// taken reports the answers to a first run that mean "somebody has an admin already": 409, and the two of a lost race,
// 400 "… already exists" and 404. A 409 may also come from a broken users table, so the login decides.
func taken(err error) bool {
	a, garm := garmapi.FromGarm(err)
	return garm && !garmapi.NotRouted(err) && (a.Code == 409 || a.Code == 404 || a.Code == 400 && strings.Contains(a.Details, "already exists"))
}

// controllerGone reports that a server has an admin, and says that it has none: v0.1.x looks for its controller's row
// to tell, which garm makes at its start. v0.2.x finds no admin either when it cannot read its database.
func controllerGone(firstRun, login error) bool {
	run, garm := garmapi.FromGarm(firstRun)
	gate, said := garmapi.FromGarm(login)
	return garm && run.Code == 409 && run.Details == garmapi.AlreadyInitialized && said && gate.Kind == garmapi.KindInitRequired
}

// state reads the state as a stranger, and changes nothing.
//
// v0.2.x says init_required by itself. v0.1.x does not, so it is asked with an empty first run, which every version
// refuses: with 409 when there is an admin, with 400 "missing username or email" when there is none. v0.1.4 has no gate
// for URLs: it is complete as soon as it has an admin.
func state(ctx context.Context, c *garmapi.Client) (State, error) {
	err := c.Knock(ctx)
	gate, garm := garmapi.FromGarm(err)
	switch {
	case err == nil:
		return Complete, errors.New("controller: the server answers strangers: is this garm?")
	case !garm:
		return NoAdmin, err
	case gate.Kind == garmapi.KindInitRequired:
		return NoAdmin, nil
	}
	err = c.FirstRun(ctx, garmparams.NewUserParams{})
	empty, answered := garmapi.FromGarm(err)
	switch {
	case err == nil:
		return NoAdmin, errors.New("first run: the server accepts an empty one: is this garm?")
	case !answered:
		return NoAdmin, err
	case empty.Code == 400:
		return NoAdmin, nil
	case empty.Code != 409:
		return NoAdmin, fmt.Errorf("cannot tell whether the server has an admin: %w", err)
	case gate.Kind == garmapi.KindURLsRequired:
		return NoURLs, nil
	}
	return Complete, nil
}
