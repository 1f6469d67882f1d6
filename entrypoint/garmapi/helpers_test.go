package garmapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// clientOf returns a client of a server that answers with h.
func clientOf(t *testing.T, h http.Handler, edit func(*garmapi.Options)) *garmapi.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	o := garmapi.Options{Server: u, Transport: garmapi.NewTransport(garmapi.Trust{}, nil)}
	if edit != nil {
		edit(&o)
	}
	return garmapi.New(o)
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
