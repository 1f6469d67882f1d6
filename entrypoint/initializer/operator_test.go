package initializer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
	"garm-entrypoint/internal/testgarm"
)

// operator sends what garm-operator v0.4.0, v0.4.1 and its head of July 2026 send to garm, as far as it concerns
// initialising, and in their order. v0.3.3 and older send the first two requests only.
type operator struct {
	server    string
	transport http.RoundTripper
	token     string
	// spec is the GarmServerConfig resource; nil: there is none.
	spec map[string]string
}

// errExits: this process of the operator ends, and Kubernetes starts another.
var errExits = errors.New("the operator exits")

// start is what a process does before it reconciles anything.
func (o *operator) start() error {
	if err := o.init(); err != nil {
		return err
	}
	if err := o.login(); err != nil {
		return err
	}
	info, err := o.controller()
	if err != nil {
		return err
	}
	if version, _ := info["version"].(string); version < "v0.1.5" {
		return fmt.Errorf("%w: it does not take garm %q", errExits, version)
	}
	return o.reconcile()
}

// reconcile brings the controller to the resource, all three URLs at once.
func (o *operator) reconcile() error {
	if o.spec == nil {
		return nil
	}
	info, err := o.controller()
	if err != nil {
		return err
	}
	for name, value := range o.spec {
		if info[name] != value {
			return o.update(o.spec)
		}
	}
	return nil
}

// init takes a 409 for "initialised already", and nothing else.
func (o *operator) init() error {
	code, _ := o.send("POST", "/first-run", map[string]string{"username": "admin", "password": password, "email": "garm-operator@localhost"})
	if code != 200 && code != 409 {
		return fmt.Errorf("%w: first run %d", errExits, code)
	}
	return nil
}

func (o *operator) login() error {
	code, answer := o.send("POST", "/auth/login", map[string]string{"username": "admin", "password": password})
	if code != 200 {
		return fmt.Errorf("%w: login %d", errExits, code)
	}
	o.token, _ = answer["token"].(string)
	return nil
}

// controller takes any 409 for missing URLs, writes its placeholders, and gives up all the same.
func (o *operator) controller() (map[string]any, error) {
	var info map[string]any
	err := o.authorised(func() int {
		code, answer := o.send("GET", "/controller-info", nil)
		info = answer
		return code
	})
	if err == nil {
		return info, nil
	}
	var code codeError
	if errors.As(err, &code) && code == 409 {
		err = errors.Join(err, o.update(map[string]string{
			"metadata_url": "https://initial.metadata.garm.local",
			"callback_url": "https://initial.callback.garm.local",
			"webhook_url":  "https://initial.webhook.garm.local",
		}))
	}
	return nil, errors.Join(errExits, err)
}

func (o *operator) update(fields map[string]string) error {
	return o.authorised(func() int {
		code, _ := o.send("PUT", "/controller", fields)
		return code
	})
}

type codeError int

func (e codeError) Error() string { return fmt.Sprint("answer ", int(e)) }

// authorised tries again after a 401, with a first run and a login in between.
func (o *operator) authorised(send func() int) error {
	code := send()
	if code == 401 {
		if err := errors.Join(o.init(), o.login()); err != nil {
			return err
		}
		code = send()
	}
	if code != 200 {
		return codeError(code)
	}
	return nil
}

func (o *operator) send(method, path string, body any) (code int, answer map[string]any) {
	data, _ := json.Marshal(body)
	request, err := http.NewRequest(method, o.server+"/api/v1"+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil
	}
	request.Header.Set("Content-Type", "application/json")
	if o.token != "" {
		request.Header.Set("Authorization", "Bearer "+o.token)
	}
	response, err := o.transport.RoundTrip(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	_ = json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

// encounter is one meeting of the operator and us at a fresh server.
type encounter struct {
	server string
	next   http.RoundTripper
	// killed: our process ends before its request of that number, and another begins; 0: never.
	killed int
	// looks of Watch that take part in the order.
	looks int
	spec  map[string]string
	log   *logBuffer
	// process is ours, stop ends its watching.
	process *initializer.Initializer
	stop    func()
	// What came of it.
	operatorErr, ourErr error
}

var errKilled = errors.New("killed")

// killer is a process that ends before a request.
type killer struct {
	next http.RoundTripper
	left int
}

func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.left--; k.left == 0 {
		return nil, errKilled
	}
	return k.next.RoundTrip(r)
}

// operate starts the operator until one of its processes stays.
func (e *encounter) operate(transport http.RoundTripper) {
	for range 4 {
		o := &operator{server: e.server, transport: transport, spec: e.spec}
		if e.operatorErr = o.start(); e.operatorErr == nil {
			return
		}
	}
}

// ours is a new process of ours. It watches until it has looked as often as looks says.
func (e *encounter) ours(transport http.RoundTripper) *initializer.Initializer {
	u, _ := url.Parse(e.server)
	i, err := initializer.New(initializer.Options{
		Server: u, Transport: transport,
		Credentials: initializer.Credentials{Username: "admin", Password: password, Email: "admin@localhost", FullName: "Admin"},
		Want:        urls,
		Interval:    10 * time.Millisecond,
		Logger:      slog.New(slog.NewTextHandler(e.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnIdle: func() {
			if e.looks--; e.looks < 0 {
				e.stop()
			}
		},
	})
	if err != nil {
		panic(err)
	}
	return i
}

// initialise is our side, killed once if that is asked for.
func (e *encounter) initialise(transport http.RoundTripper) {
	if e.killed > 0 {
		ctx, cancel := context.WithCancel(context.Background())
		k := &killer{next: transport, left: e.killed}
		_, _ = e.ours(cancelling{k, cancel}).Ensure(ctx)
		cancel()
	}
	e.process = e.ours(transport)
	e.ourErr = e.restart()
}

// restart is Ensure and Watch of the process that there is.
func (e *encounter) restart() error {
	looks := e.looks
	if _, err := e.process.Ensure(context.Background()); err != nil {
		return err
	}
	e.watch(looks)
	return e.ourErr
}

// watch looks so many times.
func (e *encounter) watch(looks int) {
	var ctx context.Context
	ctx, e.stop = context.WithCancel(context.Background())
	defer e.stop()
	e.looks = looks
	e.ourErr = e.process.Watch(ctx)
}

// cancelling ends the process whose request was not sent.
type cancelling struct {
	next http.RoundTripper
	end  func()
}

func (c cancelling) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if errors.Is(err, errKilled) {
		c.end()
	}
	return response, err
}

// meet lets the two act in one order, and then us watch on alone.
func (e *encounter) meet(turn func() bool) {
	e.log = &logBuffer{}
	interleave([2]*party{newParty(e.operate), newParty(e.initialise)}, e.next, turn)
	if e.ourErr == nil {
		e.watch(2)
	}
}

// fault says what is wrong in the end, "" when nothing is. held is the controller of the server, admins how many users
// it has.
func (e *encounter) fault(held func(string) any, admins int) string {
	switch {
	case e.ourErr != nil:
		return "ours: " + e.ourErr.Error()
	case e.operatorErr != nil:
		return "the operator's: " + e.operatorErr.Error()
	case e.log.count("level=WARN")+e.log.count("level=ERROR") > 0:
		return "we report a failure"
	case admins != 1:
		return fmt.Sprint(admins, " admins")
	}
	for name, want := range map[string]string{"metadata_url": urls.MetadataURL, "callback_url": urls.CallbackURL, "webhook_url": urls.WebhookURL} {
		if held(name) != want {
			return fmt.Sprintf("%s is %v", name, held(name))
		}
	}
	if err := (&operator{server: e.server, transport: e.next}).login(); err != nil {
		return err.Error()
	}
	return ""
}

var sameURLs = map[string]string{"metadata_url": urls.MetadataURL, "callback_url": urls.CallbackURL, "webhook_url": urls.WebhookURL}

// Both with the same credentials, every order of their requests, on every version that the operator takes. Ours are 6
// requests and up, its are 7.
func TestWithOperatorInEveryOrder(t *testing.T) {
	for _, c := range []struct {
		name          string
		turns, killed int
		looks         int
		spec          map[string]string
	}{
		{name: "every order", turns: 1000},
		{name: "with a look", turns: 5, looks: 1},
		{name: "with a resource of the same URLs", turns: 5, spec: sameURLs},
		{name: "killed 1", turns: 3, killed: 1}, {name: "killed 2", turns: 3, killed: 2}, {name: "killed 3", turns: 3, killed: 3},
		{name: "killed 4", turns: 3, killed: 4}, {name: "killed 5", turns: 3, killed: 5}, {name: "killed 6", turns: 3, killed: 6},
	} {
		for _, version := range versions[1:] {
			t.Run(c.name+" "+version, func(t *testing.T) {
				orders := inEveryOrder(c.turns, func(turn func() bool) {
					synctest.Test(t, func(t *testing.T) {
						garm := fakegarm.New(version)
						e := &encounter{server: "http://garm", next: local{garm}, killed: c.killed, looks: c.looks, spec: c.spec}
						e.meet(turn)
						if fault := e.fault(func(name string) any { return garm.Controller[name] }, len(garm.Users)); fault != "" {
							t.Errorf("%s\n%v\n%s", fault, garm.Requests, e.log)
						}
					})
					if t.Failed() {
						t.FailNow()
					}
				})
				t.Logf("%d orders", orders)
			})
		}
	}
}

// The server loses its admin while both are there. On v0.2.x the operator does not recover by itself, since it heeds a
// 401 only; with us it does.
func TestWithOperatorAfterAReset(t *testing.T) {
	for _, version := range versions[1:] {
		t.Run(version, func(t *testing.T) {
			orders := inEveryOrder(6, func(turn func() bool) {
				synctest.Test(t, func(t *testing.T) {
					garm := fakegarm.New(version)
					e := &encounter{server: "http://garm", next: local{garm}, spec: sameURLs}
					e.meet(func() bool { return false })
					o := &operator{server: e.server, spec: e.spec}
					clear(garm.Users)
					clear(garm.Tokens)
					interleave([2]*party{
						newParty(func(gated http.RoundTripper) {
							// A reconciler is asked again after a failure.
							o.transport = gated
							for range 4 {
								if e.operatorErr = o.reconcile(); e.operatorErr == nil {
									return
								}
							}
						}),
						newParty(func(gated http.RoundTripper) {
							e.process = e.ours(gated)
							e.looks = 2
							e.ourErr = e.restart()
						}),
					}, e.next, turn)
					o.transport = e.next
					if e.operatorErr = o.reconcile(); e.operatorErr != nil || e.ourErr != nil {
						t.Errorf("the operator: %v; we: %v", e.operatorErr, e.ourErr)
					}
					if len(garm.Users) != 1 || garm.Controller["metadata_url"] != urls.MetadataURL {
						t.Errorf("%v %v\n%s", garm.Users, garm.Controller, e.log)
					}
				})
				if t.Failed() {
					t.FailNow()
				}
			})
			t.Logf("%d orders", orders)
		})
	}
}

// The same against the real garm, in the orders in which the turn passes at most twice, and without any order.
func TestWithOperatorForReal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a garm server")
	}
	dir := t.TempDir()
	config := testgarm.Config(t, dir)
	testgarm.StartGarm(t, config)
	database, server := filepath.Join(dir, "garm.db"), testgarm.BaseURL(t, config)
	transport := initializer.NewTransport(initializer.Trust{}, nil)
	transport.MaxIdleConns = 10
	check := func(meet func(e *encounter)) {
		testgarm.SQL(t, database, "DELETE FROM users", "UPDATE controller_infos SET metadata_url='', callback_url='', webhook_base_url='', agent_url=''")
		e := &encounter{server: server, next: transport, log: &logBuffer{}}
		meet(e)
		admins := testgarm.SQL(t, database, "SELECT username FROM users")
		token, _ := testgarm.API(t, server).Login("admin", password)
		c, _ := testgarm.API(t, server).Controller(token)
		held := map[string]any{"metadata_url": c.MetadataURL, "callback_url": c.CallbackURL, "webhook_url": c.WebhookURL}
		if fault := e.fault(func(name string) any { return held[name] }, 1); fault != "" || admins != "admin" || c.AgentURL != urls.AgentURL {
			t.Fatalf("%s; admins %q; agent URL %s\n%s", fault, admins, c.AgentURL, e.log)
		}
	}
	orders := inEveryOrder(2, func(turn func() bool) { check(func(e *encounter) { e.meet(turn) }) })
	t.Logf("%d orders", orders)
	for range 5 {
		check(func(e *encounter) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				e.operate(transport)
			}()
			e.initialise(transport)
			<-done
			e.watch(2)
		})
	}
}
