package initializer

import (
	"crypto/tls"
	"errors"
	"fmt"

	"garm-entrypoint/entrypoint/garmapi"
)

// RefusedError: the server refused the first run or the controller's new values, and will refuse them again.
type RefusedError struct {
	// What was refused: "the first run", "the controller's URLs".
	What string
	// Reason in the server's own words, secrets removed.
	Reason string
	// Configuration says that other configuration would cure it (a stronger password, a valid URL). False: nothing that
	// the user can set would.
	Configuration bool
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the server refused %s: %s", e.What, e.Reason)
}

// MismatchError: the server has an admin, and our credentials do not log in.
type MismatchError struct {
	Username string
	// NoPassword says that none is known to us, rather than a wrong one.
	NoPassword bool
}

func (e *MismatchError) Error() string {
	if e.NoPassword {
		return "cannot log in: the server has an admin already, and no password is configured"
	}
	return fmt.Sprintf("cannot log in as %q: the server has an admin already, and these credentials are not his", e.Username)
}

// TakeoverError: a server whose database counted as new has an admin that we did not create: somebody was faster.
type TakeoverError struct {
	Username string
}

func (e *TakeoverError) Error() string {
	return fmt.Sprintf("the database was new, yet the server has an admin and %q does not log in: somebody else initialised it", e.Username)
}

// UnreachableError: no proof of the initialised state before the context ended, or no answer at all for SilenceLimit.
type UnreachableError struct {
	// Answered says that the server answered something, if not what it should.
	Answered bool
	// Last is the last failure; may be nil.
	Last error
}

func (e *UnreachableError) Error() string {
	what := "the API did not answer"
	if e.Answered {
		what = "the server did not become initialised"
	}
	if e.Last == nil {
		return what
	}
	return what + ": " + e.Last.Error()
}

func (e *UnreachableError) Unwrap() error { return e.Last }

var errControllerGone = errors.New("the server's controller record is gone; a restart of garm makes a new one")

// permanent reports whether trying again cannot help.
func permanent(err error) bool {
	var (
		refused  *RefusedError
		mismatch *MismatchError
		takeover *TakeoverError
		own      *ownError
	)
	return errors.As(err, &refused) || errors.As(err, &mismatch) ||
		errors.As(err, &takeover) || errors.As(err, &own)
}

// stateOf is what of a failure tells one state of the server from another. What a lost connection says differs from try
// to try: it names ports, and in one outage it breaks first and is refused then. A certificate is no outage.
func stateOf(err error, answered bool) string {
	var request *garmapi.RequestError
	var certificate *tls.CertificateVerificationError
	switch {
	case !errors.As(err, &request), errors.Is(err, garmapi.ErrOtherCertificate), errors.As(err, &certificate):
		return err.Error()
	case answered:
		return "no answer that can be read"
	}
	return "no answer"
}

// ownError is a failure on our side (a password that could not be kept).
type ownError struct{ err error }

func (e *ownError) Error() string { return e.err.Error() }
func (e *ownError) Unwrap() error { return e.err }
