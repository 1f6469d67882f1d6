package initializer

import (
	"context"
	"errors"
	"fmt"
)

// State of a server as an anonymous client sees it.
type State int

const (
	// NoAdmin: whoever sends the first run becomes admin.
	NoAdmin State = iota
	// NoURLs: it has an admin, but not the URLs that it asks for itself.
	NoURLs
	// Complete: it has an admin and its URLs. v0.1.4, which keeps its URLs in
	// the config file, is complete as soon as it has an admin.
	Complete
)

func (s State) String() string {
	switch s {
	case NoAdmin:
		return "the server has no admin yet"
	case NoURLs:
		return "the server has no controller URLs yet"
	default:
		return "the server has an admin and its URLs"
	}
}

// nobodysToken is what a stranger shows. Without any token garm v0.2.1 answers
// the same, but writes an ERROR line each time (auth/jwt.go), and a health check
// comes every few seconds.
const nobodysToken = "anonymous"

// Probe reads the state without credentials and without changing anything. An
// error means: no answer, or not garm's.
//
// v0.2.x says init_required by itself. v0.1.x does not, so it is asked with an
// empty first run, which every version refuses: with 409 when there is an
// admin, with 400 "missing username or email" when there is none.
func (i *Initializer) Probe(ctx context.Context) (State, error) {
	_, err := i.client.Controller(ctx, legacyControllerPath, nobodysToken)
	gate, garm := fromGarm(err)
	switch {
	case err == nil:
		return Complete, errors.New("controller: the server answers strangers: is this garm?")
	case !garm && !is(err, 404):
		// 404: the development head may drop the legacy path.
		return NoAdmin, err
	case garm && gate.Kind == kindInitRequired:
		return NoAdmin, nil
	}
	err = i.client.FirstRun(ctx, Credentials{})
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
	case garm && gate.Kind == kindURLsRequired:
		return NoURLs, nil
	}
	return Complete, nil
}

// Live reports whether the API answers at all, whatever it says. A port that
// speaks something else, and a server in trouble (5xx), do not count.
func (i *Initializer) Live(ctx context.Context) error {
	_, err := i.client.Controller(ctx, legacyControllerPath, nobodysToken)
	if a, garm := fromGarm(err); garm && a.Code < 500 {
		return nil
	}
	if err == nil {
		return errors.New("controller: the server answers strangers: is this garm?")
	}
	return err
}
