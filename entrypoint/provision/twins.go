package provision

import (
	"cmp"
	"slices"
	"time"
)

// Twins: garm has no key for a pool, so a creation that is sent twice makes two (v0.2.1). That happens when two appliers
// find none at the same time, and when one is killed, or loses patience, while garm still works on its request, and tries
// again. So who is about to create such an object notes it in the memory before. As long as it stands there, and of those
// only that came into being within twinWindow of each other, everybody keeps the oldest, and whoever sent a creation
// deletes the others: as any pool that is deleted, drained first. Without the note two of one name are a fault that only
// people can mend.

// States of a creation, in Remembered.Sent.
const (
	// sentOff: the request was about to be sent, and its answer was not noted. It may still be carried out.
	sentOff = "sent"
	// sentDone: it was carried out. The note goes once the object was seen to be the only one.
	sentDone = "answered"
)

// twinWindow is how far apart the creations of twins are, at most. garm stalls for minutes when a forge is silent.
const twinWindow = 5 * time.Minute

// intend notes that an object is about to be created, and reports whether nothing was noted before. So it is owned from
// then on, also when whoever creates it does not live to note that it did.
func (m *Memory) intend(key string) bool {
	r := m.Objects[key]
	if r.Sent != "" {
		return false
	}
	r.Sent = sentOff
	m.put(key, r)
	return true
}

// refrain takes the note back: nothing was sent, or the server refused.
func (m *Memory) refrain(key string) {
	r := m.Objects[key]
	if r.Sent = ""; equalRemembered(r, Remembered{}) {
		m.forget(key)
	} else {
		m.put(key, r)
	}
}

// answered notes that a creation was carried out.
func (m *Memory) answered(key string) {
	r := m.Objects[key]
	r.Sent = sentDone
	m.put(key, r)
}

// oldest is the one of same that everybody keeps, and others are its twins; false: they are no twins of one creation.
func oldest(same []*Actual) (keep *Actual, others []*Actual, twins bool) {
	sorted := slices.Clone(same)
	slices.SortFunc(sorted, func(a, b *Actual) int {
		return cmp.Or(a.created().Compare(b.created()), cmp.Compare(a.ID, b.ID))
	})
	keep, others = sorted[0], sorted[1:]
	return keep, others, len(others) > 0 && sorted[len(others)].created().Sub(keep.created()) <= twinWindow
}

// created is when the server made the object; zero: it does not say.
func (a *Actual) created() time.Time {
	t, _ := time.Parse(time.RFC3339Nano, pickText(a.raw, "created_at"))
	return t
}

// twinKey tells the failures of one of several objects of a key from those of the others.
func twinKey(a *Actual) string { return a.Key + "#" + a.ID }
