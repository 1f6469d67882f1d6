package garmapi

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an answer other than success.
type Error struct {
	// Op is what was asked for, Code the HTTP status.
	Op   string
	Code int
	// Kind and Details are the fields of garm's error body, secrets removed. Kind is empty when the body is not garm's:
	// a router, a proxy or a TLS port speaks then.
	Kind    string
	Details string
	// Location is where a redirect points to. It is never followed: the request may hold a secret.
	Location string
}

func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: the server answered %d", e.Op, e.Code)
	switch {
	case e.Location != "":
		fmt.Fprintf(&text, " (redirect to %s, not followed: use the final URL)", e.Location)
	case e.Details != "":
		fmt.Fprintf(&text, " (%s)", e.Details)
	case e.Kind != "":
		fmt.Fprintf(&text, " (%s)", e.Kind)
	}
	return text.String()
}

// RequestError is a request without an answer that could be read: whether the server did what was asked for is not
// known. It unwraps to the cause, whose text may hold a secret; its own does not.
type RequestError struct {
	// Op is what was asked for.
	Op   string
	text string
	err  error
}

func (e *RequestError) Error() string { return e.Op + ": " + e.text }

// Unwrap is the cause, such as ErrOtherCertificate or context.DeadlineExceeded.
func (e *RequestError) Unwrap() error { return e.err }

// ErrOtherCertificate: a server answered whose certificate is not the pinned one. Nothing was sent to it.
var ErrOtherCertificate = errors.New("the server's certificate is not the configured one, so nothing was sent to it")

// ErrNoPassword: a login is needed, and no password is known.
var ErrNoPassword = errors.New("no password is known")

// Is reports whether err is an answer with that code, whoever gave it.
func Is(err error, code int) bool {
	var a *Error
	return errors.As(err, &a) && a.Code == code
}

// FromGarm returns the answer in err if garm itself gave it, and no proxy before it.
func FromGarm(err error) (*Error, bool) {
	var a *Error
	ok := errors.As(err, &a) && a.Kind != ""
	return a, ok
}
