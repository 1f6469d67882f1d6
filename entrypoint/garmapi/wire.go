package garmapi

import (
	"net/http"
	"sync"
	"time"
)

// wire notes when the server last answered.
type wire struct {
	next      http.RoundTripper
	onAnswer  func()
	userAgent string

	mutex      sync.Mutex
	lastAnswer time.Time // zero before the first one
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.userAgent != "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", w.userAgent)
	}
	resp, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if w.note() && w.onAnswer != nil {
		w.onAnswer()
	}
	return resp, nil
}

// note that there is an answer, and report whether it is the first.
func (w *wire) note() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	first := w.lastAnswer.IsZero()
	w.lastAnswer = time.Now()
	return first
}

func (w *wire) last() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.lastAnswer
}
