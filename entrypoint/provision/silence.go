package provision

import (
	"fmt"
	"slices"
)

// silence is what is known of requests that ran into their time limit. A forge that accepts connections and never answers
// stalls garm itself: it asks the forge about its rate limit under the one lock that the creation of any entity, of any
// forge, needs, and without a limit of its own (v0.2.1, runner/runner.go and util/github/client.go). So the first such
// timeout names the forge, and a second one, at another forge, says that garm stalls; neither is tried again in this
// Apply. What garm does without a forge, such as pools of entities that are there, goes on.
type silence struct {
	// forges are endpoints whose forge does not answer, in the order of finding out.
	forges []string
	// stalled: no entity can be created, whatever its forge.
	stalled bool
	// mute are kinds that did not get an answer although no forge is asked for them, by kind and endpoint.
	mute map[string]bool
}

// note a timeout.
func (s *silence) note(t *target) {
	switch {
	case t.Endpoint == "":
	case !t.Kind.AsksForge:
		if s.mute == nil {
			s.mute = map[string]bool{}
		}
		s.mute[muteKey(t)] = true
	case len(s.forges) > 0 && s.forges[0] != t.Endpoint && t.isEntity():
		s.stalled = true
	case !slices.Contains(s.forges, t.Endpoint):
		s.forges = append(s.forges, t.Endpoint)
	}
}

func muteKey(t *target) string { return t.Kind.Name + " " + t.Endpoint }

// isEntity reports what has no parent and belongs to credentials.
func (t *target) isEntity() bool { return t.Credentials != "" }

// of is what a target waits for; nil: nothing.
func (s *silence) of(t *target) error {
	switch {
	case t.Kind.AsksForge && slices.Contains(s.forges, t.Endpoint):
		return &errWaits{fmt.Sprintf("the forge of endpoint %s, which does not answer", t.Endpoint)}
	case t.isEntity() && s.stalled:
		return &errWaits{fmt.Sprintf("garm, which stalls as long as the forge of endpoint %s does not answer", s.forges[0])}
	case s.mute[muteKey(t)]:
		return &errWaits{"garm, which does not answer"}
	}
	return nil
}
