package garmapi

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cloudbase/garm/client/controller"
	"github.com/cloudbase/garm/client/controller_info"
	"github.com/cloudbase/garm/client/first_run"
	"github.com/cloudbase/garm/client/login"
	garmparams "github.com/cloudbase/garm/params"
	"github.com/go-openapi/runtime"
	httptransport "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
)

// RequestTimeout bounds one request, unless it says otherwise. A password hash takes garm 60 to 85 ms, a locked sqlite
// file 5 s before it gives up; a small machine under load takes a few times that.
const RequestTimeout = 30 * time.Second

// Options of New. Server is required.
type Options struct {
	// Server is the base URL of the server, http or https, a path prefix of a reverse proxy included. CheckServer says
	// what is wrong with one.
	Server *url.URL
	// Transport carries the requests; nil: http.DefaultTransport. See NewTransport for one that trusts exactly what it
	// should.
	Transport http.RoundTripper
	// UserAgent is what garm's access log shows; empty: net/http's.
	UserAgent string
	// OnAnswer is called once, when the server first answered anything; nil: nobody. It is called from the goroutine
	// that asked.
	OnAnswer func()
}

// Client speaks garm's API. It is safe for concurrent use.
type Client struct {
	wire       *wire
	runtime    *httptransport.Runtime
	login      login.ClientService
	firstRun   first_run.ClientService
	controller controller.ClientService
	info       controller_info.ClientService
	// olderPath: ReadController last found the controller at its path of old.
	olderPath atomic.Bool
	// sent are the passwords that this client sent: they are removed from whatever the server says from then on.
	sent secrets
}

// New returns a client; it sends nothing.
func New(opts Options) *Client {
	transport := opts.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	w := &wire{next: transport, onAnswer: opts.OnAnswer, userAgent: opts.UserAgent}
	hc := &http.Client{
		Transport: w,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
	prefix := strings.TrimRight(opts.Server.EscapedPath(), "/")
	rt := httptransport.NewWithClient(opts.Server.Host, prefix+"/api/v1", []string{opts.Server.Scheme}, hc)
	// The runtime would print whole requests, passwords included, when DEBUG or SWAGGER_DEBUG is in the environment.
	rt.Debug = false
	// Without a consumer for the content type no reader is called and the status code is lost; ours looks at the body
	// itself.
	rt.Consumers["*/*"] = runtime.JSONConsumer()
	return &Client{
		wire:       w,
		runtime:    rt,
		login:      login.New(rt, strfmt.Default),
		firstRun:   first_run.New(rt, strfmt.Default),
		controller: controller.New(rt, strfmt.Default),
		info:       controller_info.New(rt, strfmt.Default),
	}
}

// CheckServer says why a URL cannot be Options.Server; nil: it can.
func CheckServer(u *url.URL) error {
	switch {
	case u == nil:
		return errors.New("cannot use the server's URL: there is none")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("cannot use the server's URL: it must begin with http:// or https://")
	case u.Host == "":
		return errors.New("cannot use the server's URL: it names no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("cannot use the server's URL: it must hold no user, query or fragment")
	}
	return nil
}

// LastAnswer is when the server last answered anything; zero: never yet.
func (c *Client) LastAnswer() time.Time { return c.wire.last() }

// Login returns a token, which garm takes for 24 h at least.
func (c *Client) Login(ctx context.Context, username, password string) (string, error) {
	hide := c.sent.add(password)
	p := login.NewLoginParamsWithTimeout(RequestTimeout).WithContext(ctx).
		WithBody(garmparams.PasswordLoginParams{Username: username, Password: password})
	ok, err := c.login.Login(p, nil, func(op *runtime.ClientOperation) { readErrors(op, "login", hide) })
	if err != nil {
		return "", clean("login", err, hide)
	}
	if ok.Payload.Token == "" {
		return "", errors.New("login: the server answered 200 without a token: is this garm?")
	}
	return ok.Payload.Token, nil
}

// FirstRun asks, as a stranger, for the creation of the admin. What its answer means is for the caller to find out:
// garm's codes do not tell.
func (c *Client) FirstRun(ctx context.Context, user garmparams.NewUserParams) error {
	hide := c.sent.add(user.Password)
	p := first_run.NewFirstRunParamsWithTimeout(RequestTimeout).WithContext(ctx).WithBody(user)
	_, err := c.firstRun.FirstRun(p, nil, func(op *runtime.ClientOperation) { readErrors(op, "first run", hide) })
	return clean("first run", err, hide)
}

// Controller reads the controller at the given path of the API. See ReadController for one that finds the path.
func (c *Client) Controller(ctx context.Context, path, token string) (garmparams.ControllerInfo, error) {
	hide := c.sent.and(token)
	p := controller_info.NewControllerInfoParamsWithTimeout(RequestTimeout).WithContext(ctx)
	ok, err := c.info.ControllerInfo(p, httptransport.BearerToken(token), func(op *runtime.ClientOperation) {
		// The generated client knows the path of old only.
		op.PathPattern = path
		readErrors(op, "controller", hide)
	})
	if err != nil {
		return garmparams.ControllerInfo{}, clean("controller", err, hide)
	}
	return ok.Payload, nil
}

// UpdateController changes what is set in the update.
func (c *Client) UpdateController(ctx context.Context, token string, update garmparams.UpdateControllerParams) error {
	hide := c.sent.and(token)
	p := controller.NewUpdateControllerParamsWithTimeout(RequestTimeout).WithContext(ctx).WithBody(update)
	_, err := c.controller.UpdateController(p, httptransport.BearerToken(token), func(op *runtime.ClientOperation) {
		readErrors(op, "controller update", hide)
	})
	return clean("controller update", err, hide)
}
