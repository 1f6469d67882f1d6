package initializer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

// A job, or an operator in place of code of its own: bring a server to the initialised state, and keep it there.
func Example() {
	server := httptest.NewServer(fakegarm.New(fakegarm.V021)) // yours: https://garm.example.com
	defer server.Close()

	address, err := url.Parse(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	want, err := initializer.Derive("https://garm.example.com")
	if err != nil {
		log.Fatal(err)
	}
	i, err := initializer.New(initializer.Options{
		Server:    address,
		Transport: initializer.NewTransport(initializer.Trust{}, nil), // or any http.RoundTripper
		Credentials: initializer.Credentials{
			Username: "admin", Password: "correct horse battery staple", Email: "admin@localhost", FullName: "Admin",
		},
		Want:     want,
		Interval: 30 * time.Second,
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		log.Fatal(err) // all faults of the options at once
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	result, err := i.Ensure(ctx)
	if err != nil {
		log.Fatal(explain(err))
	}
	fmt.Println("garm", result.ServerVersion, "admin created:", result.AdminCreated)
	for _, change := range result.Changed {
		fmt.Println(change.Field, "is now", change.To)
	}

	cancel() // a real one lets it watch for as long as it lives
	if err := i.Watch(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// garm v0.2.1 admin created: true
	// metadata URL is now https://garm.example.com/api/v1/metadata
	// callback URL is now https://garm.example.com/api/v1/callbacks
	// webhook URL is now https://garm.example.com/webhooks
	// agent URL is now https://garm.example.com/agent
}

// explain tells the errors of Ensure apart.
func explain(err error) string {
	var (
		refused     *initializer.RefusedError
		mismatch    *initializer.MismatchError
		takeover    *initializer.TakeoverError
		unreachable *initializer.UnreachableError
	)
	switch {
	case errors.As(err, &refused) && refused.Configuration:
		return "choose another value: " + refused.Reason
	case errors.As(err, &refused):
		return "look at the server: " + refused.Reason
	case errors.As(err, &mismatch):
		return "somebody set it up with other credentials than those of " + mismatch.Username
	case errors.As(err, &takeover):
		return "do not use this server: " + takeover.Error()
	case errors.As(err, &unreachable) && unreachable.Answered:
		return "the server is in trouble: " + unreachable.Error()
	case errors.As(err, &unreachable):
		return "there is no server: " + unreachable.Error()
	}
	return err.Error()
}

// The errors of Ensure, and what each of them is for.
func ExampleInitializer_Ensure_errors() {
	garm := fakegarm.New(fakegarm.V021)
	garm.Users["admin"] = "not ours"
	server := httptest.NewServer(garm)
	defer server.Close()
	address, _ := url.Parse(server.URL)
	i, err := initializer.New(initializer.Options{
		Server:      address,
		Credentials: initializer.Credentials{Username: "admin", Password: "correct horse battery staple", Email: "admin@localhost"},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = i.Ensure(context.Background())
	fmt.Println(explain(err))
	// Output:
	// somebody set it up with other credentials than those of admin
}
