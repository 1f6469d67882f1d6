package initializer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
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

const (
	// requestTimeout bounds one request. A password hash takes garm 60 to
	// 85 ms, a locked sqlite file 5 s before it gives up; a small machine under
	// load takes a few times that.
	requestTimeout = 30 * time.Second
	// maxBody bounds what we read of an answer, in bytes. A controller with a
	// CA bundle has some 100 kB at the most.
	maxBody = 1 << 20
)

// apiError is an answer other than 200.
type apiError struct {
	Op   string
	Code int
	// Kind and Details are the fields of garm's error body. Kind is empty when
	// the body is not garm's: a router, a proxy or a TLS port speaks then.
	Kind    string
	Details string
	// Location is where a redirect points to. It is never followed: the
	// request may hold a secret.
	Location string
}

func (e *apiError) Error() string {
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

// is reports whether err is an API answer with that code.
func is(err error, code int) bool {
	var a *apiError
	return errors.As(err, &a) && a.Code == code
}

// fromGarm returns the API answer in err if garm itself gave it.
func fromGarm(err error) (*apiError, bool) {
	var a *apiError
	ok := errors.As(err, &a) && a.Kind != ""
	return a, ok
}

// WeakPassword is the reason of a RefusedError when garm finds
// the password too weak.
const WeakPassword = "password is too weak"

// verdicts are garm's words on a first run.
var verdicts = []string{WeakPassword, "invalid username", "invalid email address", "missing username or email", alreadyInitialized}

// client speaks garm's API.
type client struct {
	wire       *wire
	login      login.ClientService
	firstRun   first_run.ClientService
	controller controller.ClientService
	info       controller_info.ClientService
	// olderPath: readController last found the controller at its path of old.
	olderPath bool
	// secrets are removed from whatever the server says.
	secrets []string
}

func newClient(opts Options) *client {
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
	// The runtime would print whole requests, passwords included, when DEBUG
	// or SWAGGER_DEBUG is in the environment.
	rt.Debug = false
	// Without a consumer for the content type no reader is called and the
	// status code is lost; ours looks at the body itself.
	rt.Consumers["*/*"] = runtime.JSONConsumer()
	return &client{
		wire:       w,
		login:      login.New(rt, strfmt.Default),
		firstRun:   first_run.New(rt, strfmt.Default),
		controller: controller.New(rt, strfmt.Default),
		info:       controller_info.New(rt, strfmt.Default),
	}
}

// Login returns a token.
func (c *client) Login(ctx context.Context, username, password string) (string, error) {
	p := login.NewLoginParamsWithTimeout(requestTimeout).WithContext(ctx).
		WithBody(garmparams.PasswordLoginParams{Username: username, Password: password})
	ok, err := c.login.Login(p, nil, func(op *runtime.ClientOperation) { c.errorsOf(op, "login") })
	if err != nil {
		return "", c.clean("login", err)
	}
	if ok.Payload.Token == "" {
		return "", errors.New("login: the server answered 200 without a token: is this garm?")
	}
	return ok.Payload.Token, nil
}

// FirstRun asks for the creation of the admin.
func (c *client) FirstRun(ctx context.Context, cr Credentials) error {
	p := first_run.NewFirstRunParamsWithTimeout(requestTimeout).WithContext(ctx).
		WithBody(garmparams.NewUserParams{
			Username: cr.Username, Password: cr.Password, Email: cr.Email, FullName: cr.FullName,
		})
	_, err := c.firstRun.FirstRun(p, nil, func(op *runtime.ClientOperation) { c.errorsOf(op, "first run") })
	return c.clean("first run", err)
}

// Controller reads the controller at the given path of the API.
func (c *client) Controller(ctx context.Context, path, token string) (garmparams.ControllerInfo, error) {
	p := controller_info.NewControllerInfoParamsWithTimeout(requestTimeout).WithContext(ctx)
	ok, err := c.info.ControllerInfo(p, httptransport.BearerToken(token), func(op *runtime.ClientOperation) {
		// The generated client knows the legacy path only.
		op.PathPattern = path
		c.errorsOf(op, "controller")
	})
	if err != nil {
		return garmparams.ControllerInfo{}, c.clean("controller", err)
	}
	return ok.Payload, nil
}

// UpdateController changes what is set in the update.
func (c *client) UpdateController(ctx context.Context, token string, update garmparams.UpdateControllerParams) error {
	p := controller.NewUpdateControllerParamsWithTimeout(requestTimeout).WithContext(ctx).WithBody(update)
	_, err := c.controller.UpdateController(p, httptransport.BearerToken(token), func(op *runtime.ClientOperation) {
		c.errorsOf(op, "controller update")
	})
	return c.clean("controller update", err)
}

// errorsOf makes every answer but 200 an *apiError. The generated readers
// throw the body of most codes away, and the body is where garm says what it
// means.
func (c *client) errorsOf(op *runtime.ClientOperation, name string) {
	good := op.Reader
	op.Reader = runtime.ClientResponseReaderFunc(func(r runtime.ClientResponse, consumer runtime.Consumer) (any, error) {
		if r.Code() == http.StatusOK {
			return good.ReadResponse(r, runtime.JSONConsumer())
		}
		return nil, c.parseError(name, r)
	})
}

func (c *client) parseError(op string, r runtime.ClientResponse) *apiError {
	e := &apiError{Op: op, Code: r.Code()}
	if e.Code >= 300 && e.Code < 400 {
		e.Location = redact(r.GetHeader("Location"), c.secrets...)
	}
	var body struct{ Error, Details string }
	data, err := io.ReadAll(r.Body())
	if err == nil && json.Unmarshal(data, &body) == nil {
		e.Kind, e.Details = body.Error, body.Details
		// garm's own verdicts are no echo, even where a poor password is a
		// word of them.
		if !slices.Contains(verdicts, e.Details) {
			e.Details = redact(e.Details, c.secrets...)
		}
		if !gatesWord(e.Kind) {
			e.Kind = redact(e.Kind, c.secrets...)
		}
	}
	return e
}

// clean removes secrets from errors of lower layers, which may quote pieces of
// an answer.
func (c *client) clean(op string, err error) error {
	if err == nil {
		return nil
	}
	var a *apiError
	if errors.As(err, &a) {
		return a
	}
	return &requestError{op: op, err: err, text: redact(unwrapURL(err).Error(), c.secrets...)}
}

// unwrapURL strips net/http's `Post "http://…": ` from an error: the operation
// and the server are known.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// requestError is a request without an answer that could be read.
type requestError struct {
	op   string
	text string
	err  error
}

func (e *requestError) Error() string { return e.op + ": " + e.text }
func (e *requestError) Unwrap() error { return e.err }
