package provision

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
)

// Memory is what has to be remembered of a server from one time to the next: what is owned, what was last in force,
// and fingerprints of the secrets that garm holds and never returns. It holds no secret but its own key. Lost, it
// costs that each secret is sent once more, and that nothing is pruned; nothing is created twice.
type Memory struct {
	// Controller is the id of the server that the rest is about.
	Controller string `json:"controller"`
	// Key of the fingerprints, random.
	Key []byte `json:"key"`
	// Objects that are owned, by their keys: created by us, or declared once.
	Objects map[string]Remembered `json:"objects"`

	changed bool
}

// Remembered is what is known of one owned object.
type Remembered struct {
	// ID is the server's own.
	ID string `json:"id,omitempty"`
	// Secret is the fingerprint of the secrets that were sent last.
	Secret string `json:"secret,omitempty"`
	// Fields are fingerprints of the declared values that were last in force: a server that differs from those was
	// changed by hand.
	Fields map[string]string `json:"fields,omitempty"`
	// Stamp is, of a template, when the server last changed it, and of a webhook, the URL that it was installed for.
	Stamp string `json:"stamp,omitempty"`
	// Unkept are fingerprints of values that this version of garm took and did not keep: they are not sent again.
	Unkept map[string]string `json:"unkept,omitempty"`
	// Sent: a creation was sent of which it is not certain that it was the only one; see twins.go.
	Sent string `json:"sent,omitempty"`
}

// keyLength of a Memory in bytes, as long as the digest (RFC 2104, section 3).
const keyLength = 32

// NewMemory makes an empty one, of nothing so far.
func NewMemory() *Memory {
	key := make([]byte, keyLength)
	_, _ = rand.Read(key) // it never fails (crypto/rand)
	return &Memory{Key: key, Objects: map[string]Remembered{}, changed: true}
}

// ParseMemory reads what Encode made.
func ParseMemory(data []byte) (*Memory, error) {
	m := &Memory{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("it is not what was kept: %w", err)
	}
	if len(m.Key) != keyLength {
		return nil, fmt.Errorf("it is not what was kept: its key has %d bytes, not %d", len(m.Key), keyLength)
	}
	if m.Objects == nil {
		m.Objects = map[string]Remembered{}
	}
	return m, nil
}

// Encode makes JSON of it.
func (m *Memory) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "\t")
	return append(data, '\n'), err
}

// belongTo forgets what was of another server: its ids mean nothing here, and nothing here is owned.
func (m *Memory) belongTo(controller string) {
	if m.Controller != controller {
		m.Controller, m.Objects, m.changed = controller, map[string]Remembered{}, true
	}
}

// fingerprint of a value of an object.
func (m *Memory) fingerprint(object, field string, value any) string {
	return fingerprint(m.Key, object+"\x00"+field, value)
}

// remember notes what is in force of a declared object, which alone: has its key for itself.
func (m *Memory) remember(t *target, a *Actual, stamp string, alone bool) {
	last := m.Objects[t.Key]
	next := Remembered{ID: a.ID, Secret: last.Secret, Stamp: stamp, Sent: last.Sent, Unkept: last.Unkept, Fields: map[string]string{}}
	if alone && (last.Sent == sentDone || !t.Kind.Keyless) {
		next.Sent = ""
	}
	for name, value := range t.Values {
		if f, _ := t.Kind.field(name); f.compared() {
			next.Fields[name] = m.fingerprint(t.Key, name, f.Type.normal(value))
		}
	}
	m.put(t.Key, next)
}

// unkeptOf is the fingerprint of a value that a version does not keep.
func (m *Memory) unkeptOf(key string, f Field, value any, version string) string {
	return m.fingerprint(key, f.Name+"\x00"+version, f.Type.normal(value))
}

// unkept notes that a version does not keep values of a target.
func (m *Memory) unkept(t *target, fields []FieldChange, version string) {
	r := m.Objects[t.Key]
	noted := map[string]string{}
	maps.Copy(noted, r.Unkept)
	for _, c := range fields {
		if f, ok := t.Kind.field(c.Name); ok && f.compared() {
			noted[f.Name] = m.unkeptOf(t.Key, f, t.Values[f.Name], version)
		}
	}
	r.Unkept = noted
	m.put(t.Key, r)
}

// sent notes the secrets that were just sent.
func (m *Memory) sent(t *target) {
	r := m.Objects[t.Key]
	r.Secret = m.secretOf(t)
	m.put(t.Key, r)
}

// secretOf is the fingerprint of the target's secrets, empty when it declares none.
func (m *Memory) secretOf(t *target) string {
	if t.Kind.secret == nil || len(t.incomplete) > 0 {
		return ""
	}
	payload := t.Kind.secret(t)
	if payload == nil {
		return ""
	}
	return m.fingerprint(t.Key, "secret", payload)
}

func (m *Memory) put(key string, r Remembered) {
	if old, known := m.Objects[key]; !known || !equalRemembered(old, r) {
		m.Objects[key], m.changed = r, true
	}
}

func (m *Memory) forget(key string) {
	if _, known := m.Objects[key]; known {
		delete(m.Objects, key)
		m.changed = true
	}
}

func equalRemembered(a, b Remembered) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
