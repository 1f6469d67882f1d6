package garmapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-openapi/runtime"
	httptransport "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
)

// Request is any call of the API, for Client.Do and Session.Do.
type Request struct {
	// Op says in messages what was asked for: "create pool".
	Op string
	// Method is HTTP's: "GET".
	Method string
	// Path below /api/v1, each segment escaped (url.PathEscape) where it may hold anything: "/credentials/" +
	// url.PathEscape(name). No query.
	Path  string
	Query url.Values
	// Body is sent as JSON; nil: none.
	Body any
	// Into is what the answer is decoded into; nil: the answer is thrown away.
	Into any
	// Timeout of this request; 0: RequestTimeout.
	Timeout time.Duration
	// Secrets are removed from whatever the server says to this request, beside the token and the passwords that the
	// client has sent.
	Secrets []string
}

// Do sends one request with a token ("": as a stranger). Any 2xx is success; every other answer is an *Error, no
// readable answer a *RequestError. Nothing is tried twice: see Session.
func (c *Client) Do(ctx context.Context, token string, r Request) error {
	hide := c.sent.and(append([]string{token}, r.Secrets...)...)
	params, pattern, err := r.params()
	if err != nil {
		return fmt.Errorf("%s: cannot use the path: %w", r.Op, err)
	}
	op := &runtime.ClientOperation{
		ID: r.Op, Method: r.Method, PathPattern: pattern, Params: params, Context: ctx,
		ProducesMediaTypes: []string{runtime.JSONMime}, ConsumesMediaTypes: []string{runtime.JSONMime},
		Reader: runtime.ClientResponseReaderFunc(func(answer runtime.ClientResponse, _ runtime.Consumer) (any, error) {
			if answer.Code() < 200 || answer.Code() > 299 {
				return nil, parseError(r.Op, answer, hide)
			}
			return nil, r.read(answer)
		}),
	}
	if token != "" {
		op.AuthInfo = httptransport.BearerToken(token)
	}
	_, err = c.runtime.Submit(op)
	return clean(r.Op, err, hide)
}

// params makes each segment of the path a parameter of its pattern: the runtime would undo the escapes of a pattern.
func (r Request) params() (runtime.ClientRequestWriter, string, error) {
	values := map[string]string{}
	var pattern strings.Builder
	for n, segment := range strings.Split(strings.Trim(r.Path, "/"), "/") {
		value, err := url.PathUnescape(segment)
		if err != nil {
			return nil, "", err
		}
		if value == "" || value == "." || value == ".." {
			return nil, "", fmt.Errorf("it has %q as a segment, which names nothing", value)
		}
		name := strconv.Itoa(n)
		values[name] = value
		pattern.WriteString("/{" + name + "}")
	}
	timeout := r.Timeout
	if timeout == 0 {
		timeout = RequestTimeout
	}
	return runtime.ClientRequestWriterFunc(func(to runtime.ClientRequest, _ strfmt.Registry) error {
		for name, value := range values {
			if err := to.SetPathParam(name, value); err != nil {
				return err
			}
		}
		for name, all := range r.Query {
			if err := to.SetQueryParam(name, all...); err != nil {
				return err
			}
		}
		if r.Body != nil {
			if err := to.SetBodyParam(r.Body); err != nil {
				return err
			}
		}
		return to.SetTimeout(timeout)
	}), pattern.String(), nil
}

// read decodes a good answer.
func (r Request) read(answer runtime.ClientResponse) error {
	if r.Into == nil {
		return nil
	}
	limit := maxAnswer
	if r.Method == http.MethodGet {
		limit = maxList
	}
	return decode(answer, limit, r.Into)
}
