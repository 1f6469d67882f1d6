package initializer

import (
	"context"
	"errors"

	"garm-entrypoint/entrypoint/garmapi"
)

// State of a server as an anonymous client sees it.
type State int

const (
	// NoAdmin: whoever sends the first run becomes admin.
	NoAdmin State = iota
	// NoURLs: it has an admin, but not the URLs that it asks for itself.
	NoURLs
	// Complete: it has an admin and its URLs.
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

// Probe reads the state without credentials and without changing anything. An error means: no answer, or not garm's.
func (i *Initializer) Probe(ctx context.Context) (State, error) {
	return state(ctx, i.client)
}

// Live reports whether the API answers at all, whatever it says. A port that speaks something else, and a server in
// trouble (5xx), do not count.
func (i *Initializer) Live(ctx context.Context) error {
	err := i.client.Knock(ctx)
	if a, garm := garmapi.FromGarm(err); garm && a.Code < 500 {
		return nil
	}
	if err == nil {
		return errors.New("controller: the server answers strangers: is this garm?")
	}
	return err
}
