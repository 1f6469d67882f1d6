package initializer

import (
	"net/http"
	"net/url"

	"garm-entrypoint/entrypoint/garmapi"
)

// Trust says which https servers NewTransport talks to. It is garmapi's.
type Trust = garmapi.Trust

// NewTransport is garmapi's: a transport with that trust and no proxy but the given one (nil: none).
func NewTransport(trust Trust, proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return garmapi.NewTransport(trust, proxy)
}

// ErrOtherCertificate is garmapi's: a server answered whose certificate is not the pinned one. Nothing was sent to it.
var ErrOtherCertificate = garmapi.ErrOtherCertificate

// WeakPassword is the reason of a RefusedError when garm finds the password too weak.
const WeakPassword = garmapi.WeakPassword
