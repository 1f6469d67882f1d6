package initializer

import (
	"context"

	garmparams "github.com/cloudbase/garm/params"
)

// Everything that depends on the server's version stands in this file. It is
// decided by what the server shows, never by its version string, which is
// v0.0.0-unknown or empty in many builds.

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

// readController reads the controller where this server has it. settable is
// false on v0.1.4, whose controller has no URLs of its own: it uses those of
// its config file.
func (c *client) readController(ctx context.Context, token string) (info garmparams.ControllerInfo, settable bool, err error) {
	info, err = c.Controller(ctx, controllerPath, token)
	if notRouted(err) {
		info, err = c.Controller(ctx, legacyControllerPath, token)
		return info, false, err
	}
	return info, true, err
}

// notRouted reports a 404 of the router, which knows no such path. garm's own
// 404 (its controller row is gone) has garm's error body.
func notRouted(err error) bool {
	_, garm := fromGarm(err)
	return is(err, 404) && !garm
}

// supported drops from a wish what this server cannot hold, and names it.
// v0.1.x answers 200 to fields that it does not know and forgets them;
// v0.2.0 and later always state a release URL for the agent.
func supported(wish Controller, info garmparams.ControllerInfo, settable bool) (Controller, []string) {
	var missing []string
	drop := func(what string) { missing = append(missing, what) }
	if !settable {
		for _, f := range wish.urls() {
			if *f.value != "" {
				drop(f.name)
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
