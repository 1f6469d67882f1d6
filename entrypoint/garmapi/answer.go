package garmapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-openapi/runtime"
)

// What we read of an answer at most, in bytes.
const (
	// maxAnswer: a controller with a CA bundle has some 100 kB.
	maxAnswer = 1 << 20
	// maxList: 200 repositories and 400 pools are lists of 370 kB.
	maxList = 64 << 20
)

// readErrors makes every answer but 200 of a generated call an *Error. The generated readers throw the body of most
// codes away, and the body is where garm says what it means.
func readErrors(op *runtime.ClientOperation, name string, hide []string) {
	good := op.Reader
	op.Reader = runtime.ClientResponseReaderFunc(func(r runtime.ClientResponse, _ runtime.Consumer) (any, error) {
		if r.Code() == http.StatusOK {
			return good.ReadResponse(boundedResponse{r, bound(r.Body(), maxAnswer)}, runtime.JSONConsumer())
		}
		return nil, parseError(name, r, hide)
	})
}

// parseError reads garm's error body; another's is left out.
func parseError(op string, r runtime.ClientResponse, hide []string) *Error {
	e := &Error{Op: op, Code: r.Code()}
	if e.Code >= 300 && e.Code < 400 {
		e.Location = redact(r.GetHeader("Location"), hide...)
	}
	var body struct{ Error, Details string }
	data, err := io.ReadAll(bound(r.Body(), maxAnswer))
	if err == nil && json.Unmarshal(data, &body) == nil {
		e.Kind, e.Details = body.Error, body.Details
		// garm's own verdicts are no echo, even where a poor password is a word of them.
		if !slices.Contains(verdicts, e.Details) {
			e.Details = redact(e.Details, hide...)
		}
		if !gatesWord(e.Kind) {
			e.Kind = redact(e.Kind, hide...)
		}
	}
	return e
}

// decode reads a good answer's JSON.
func decode(r runtime.ClientResponse, limit int, into any) error {
	if err := json.NewDecoder(bound(r.Body(), limit)).Decode(into); err != nil {
		return fmt.Errorf("cannot read the answer %d (is this garm?): %w", r.Code(), err)
	}
	return nil
}

// clean removes secrets from errors of lower layers, which may quote pieces of an answer.
func clean(op string, err error, hide []string) error {
	if err == nil {
		return nil
	}
	var a *Error
	if errors.As(err, &a) {
		return a
	}
	text := redact(unwrapURL(err).Error(), hide...)
	if errors.Is(err, http.ErrSchemeMismatch) {
		text = "the server speaks plain HTTP, not HTTPS (garm speaks HTTPS with use_tls = true under [apiserver] in its config.toml)"
	}
	return &RequestError{Op: op, err: err, text: text}
}

// unwrapURL strips net/http's `Post "http://…": ` from an error: the operation and the server are known.
func unwrapURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// boundedResponse is an answer of which no more than so much can be read.
type boundedResponse struct {
	runtime.ClientResponse
	body io.ReadCloser
}

func (r boundedResponse) Body() io.ReadCloser { return r.body }

func bound(body io.ReadCloser, limit int) io.ReadCloser {
	return &limitedBody{ReadCloser: body, left: limit, limit: limit}
}

type limitedBody struct {
	io.ReadCloser
	left, limit int
}

func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is longer than %d bytes: is this garm?", b.limit)
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	return n, err
}
