package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// engine is the little that is needed of the Docker Engine's API, https://docs.docker.com/reference/api/engine/.
type engine struct {
	http    *http.Client
	socket  string
	version string // as in /v1.41, empty until asked
}

// requestTimeout bounds each request but a pull, so that an engine that hangs does not hang garm.
const requestTimeout = 2 * time.Minute

func newEngine(socket string) *engine {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	return &engine{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, socket: socket}
}

// engineError is an answer that is not a success.
type engineError struct {
	status  int
	message string
}

func (e *engineError) Error() string {
	return fmt.Sprintf("the engine answers %d: %s", e.status, e.message)
}

// statusOf is the status of an engine's refusal; 0: it was something else.
func statusOf(err error) int {
	if refusal, ok := err.(*engineError); ok {
		return refusal.status
	}
	return 0
}

// negotiate takes the version of the API that the engine likes best: new engines refuse old ones.
func (e *engine) negotiate(ctx context.Context) error {
	if e.version != "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://engine/_ping", nil)
	if err != nil {
		return err
	}
	answer, err := e.http.Do(request)
	if err != nil {
		return fmt.Errorf("cannot reach the engine at %s (is it mounted into garm's container, and may garm's user open it?): %w", e.socket, err)
	}
	defer answer.Body.Close()
	e.version = "/v" + answer.Header.Get("Api-Version")
	if e.version == "/v" {
		e.version = ""
		return fmt.Errorf("cannot use %s: what answers there is no Docker Engine", e.socket)
	}
	return nil
}

// do sends one request and decodes the answer where one is wanted. The body is sent as it is when it is a reader.
func (e *engine) do(ctx context.Context, method, path string, query url.Values, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := e.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		return nil
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

func (e *engine) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	if err := e.negotiate(ctx); err != nil {
		return nil, err
	}
	reader, contentType := io.Reader(nil), "application/json"
	switch body := body.(type) {
	case nil:
	case io.Reader:
		reader, contentType = body, "application/x-tar"
	default:
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://engine"+e.version+path+"?"+query.Encode(), reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	answer, err := e.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < 400 {
		return answer, nil
	}
	defer answer.Body.Close()
	var said struct{ Message string }
	_ = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&said)
	return nil, &engineError{status: answer.StatusCode, message: said.Message}
}

// container is one as the engine shows it.
type container struct {
	ID, Name string
	Created  string
	Config   struct{ Labels map[string]string }
	State    struct{ Status string }

	NetworkSettings struct {
		Networks map[string]struct{ IPAddress string }
	}
}

func (e *engine) inspect(ctx context.Context, name string) (c container, err error) {
	err = e.do(ctx, http.MethodGet, "/containers/"+url.PathEscape(name)+"/json", nil, nil, &c)
	c.Name = strings.TrimPrefix(c.Name, "/")
	return c, err
}

// listed is a container in a list.
type listed struct {
	ID      string `json:"Id"`
	State   string
	Created int64 // Unix seconds
	Labels  map[string]string
}

// list returns the containers, running or not, that have all these labels, each given as NAME=VALUE or NAME.
func (e *engine) list(ctx context.Context, labels ...string) (found []listed, err error) {
	filters, err := json.Marshal(map[string][]string{"label": labels})
	if err != nil {
		return nil, err
	}
	err = e.do(ctx, http.MethodGet, "/containers/json", url.Values{"all": {"1"}, "filters": {string(filters)}}, nil, &found)
	return found, err
}

// remove removes a container, running or not, with its anonymous volumes, and returns when it is gone. One that is gone
// already is fine.
func (e *engine) remove(ctx context.Context, name string) error {
	path := "/containers/" + url.PathEscape(name)
	for {
		err := e.do(ctx, http.MethodDelete, path, url.Values{"force": {"1"}, "v": {"1"}}, nil, nil)
		switch statusOf(err) {
		case http.StatusNotFound:
			return nil
		case http.StatusConflict: // somebody else is removing it
		default:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// pull pulls an image unless it is there. It may take as long as it takes: garm's own timeouts apply.
func (e *engine) pull(ctx context.Context, image string) error {
	err := e.do(ctx, http.MethodGet, "/images/"+image+"/json", nil, nil, nil)
	if statusOf(err) != http.StatusNotFound {
		return err
	}
	name := image
	if !strings.Contains(image, "@") && !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
		name += ":latest" // without a tag the engine would pull all of them
	}
	answer, err := e.send(ctx, http.MethodPost, "/images/create", url.Values{"fromImage": {name}}, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	// A pull that fails half-way says so in its stream.
	for lines := json.NewDecoder(answer.Body); ; {
		var line struct{ Error string }
		if err := lines.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		} else if line.Error != "" {
			return fmt.Errorf("%s", line.Error)
		}
	}
}
