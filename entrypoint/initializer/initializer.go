package initializer

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
)

// Options of New. Server and Credentials.Username are required.
type Options struct {
	// Server is the base URL of the server, http or https, a path prefix of a reverse proxy included.
	Server *url.URL
	// Transport carries the requests; nil: http.DefaultTransport. See NewTransport for one that trusts exactly what it
	// should.
	Transport http.RoundTripper
	// UserAgent is what garm's access log shows; empty: net/http's.
	UserAgent string
	// Credentials of the admin. An empty Password means: not known, see NewPassword.
	Credentials Credentials
	// Token that an earlier login with these credentials returned; it is tried before a login. May be empty.
	Token string
	// NewPassword is asked for a password when none is configured and the server needs an admin. It must have made the
	// password durable when it returns: the password is in force from the next request on. nil: a server that needs an
	// admin is refused.
	NewPassword func() (string, error)
	// ForgetPassword is called when a password from NewPassword turned out never to have been in force, because
	// somebody else was first. May be nil.
	ForgetPassword func() error
	// FirstBoot says that the server's database counts as new: an admin that we did not create is then a takeover, not
	// a mere mismatch.
	FirstBoot bool
	// Want is what the controller shall hold. Empty fields are left alone.
	Want Controller
	// Fallback is what it shall hold where it holds nothing and Want is silent.
	Fallback Controller
	// Interval between two looks of Watch. 0: Watch only waits for ctx.
	Interval time.Duration
	// SilenceLimit is how long Watch accepts no answer at all. 0: for ever.
	SilenceLimit time.Duration
	// DryRun makes Ensure report what it would do, and change nothing.
	DryRun bool
	// OnIdle is called each time before Watch waits for the next look; nil: nobody. A process that lives as long as the
	// server may give memory back.
	OnIdle func()
	// OnAnswer is called once, when the server first answered anything; nil: nobody. OnToken receives each token that a
	// login returned; nil: nobody. Both are called from the goroutine that runs Ensure or Watch.
	OnAnswer func()
	OnToken  func(token string)
	// Logger receives a line per change of state; nil: nobody.
	Logger *slog.Logger
}

// Result of Ensure.
type Result struct {
	// ControllerID is the server's own identity.
	ControllerID string `json:"controller_id"`
	// ServerVersion as the server states it; empty: it does not (v0.1.4).
	ServerVersion string `json:"server_version"`
	// AdminCreated says that our first run created the admin.
	AdminCreated bool `json:"admin_created"`
	// Changed lists what was changed in the controller, or with DryRun what would be.
	Changed []Change `json:"changed"`
	// Unsupported names what was asked for and what this server's version cannot do.
	Unsupported []string `json:"unsupported,omitempty"`
	// URLsMissing says that the controller has no metadata or callback URL, so runners cannot report.
	URLsMissing bool `json:"urls_missing"`
	// DryRun says that nothing was done.
	DryRun bool `json:"dry_run,omitempty"`
}

// Garm is the server's version for people: "unknown" where it states none.
func (r Result) Garm() string {
	if r.ServerVersion == "" {
		return "unknown"
	}
	return r.ServerVersion
}

// Initializer brings one server to the initialised state. It is not safe for concurrent use: call Ensure, then Watch,
// from one goroutine.
type Initializer struct {
	opts   Options
	log    *slog.Logger
	client *garmapi.Client
	// session holds the password in force or about to be, and the token; ownPassword: the password came from
	// NewPassword.
	session     *garmapi.Session
	ownPassword bool
	// stranger: the server has an admin whom our credentials do not open.
	stranger bool
	// firstBoot ends with the first proof.
	firstBoot bool
	watch     watchState
}

// New checks the options and returns an Initializer; it sends nothing. All faults are in the one error.
func New(opts Options) (*Initializer, error) {
	var faults []error
	if err := garmapi.CheckServer(opts.Server); err != nil {
		faults = append(faults, err)
	}
	if err := opts.Credentials.Validate(); err != nil {
		faults = append(faults, err)
	}
	if err := opts.Want.Validate(); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	client := garmapi.New(garmapi.Options{
		Server: opts.Server, Transport: opts.Transport, UserAgent: opts.UserAgent, OnAnswer: opts.OnAnswer,
	})
	return &Initializer{
		opts:   opts,
		log:    opts.Logger,
		client: client,
		session: garmapi.NewSession(client, garmapi.SessionOptions{
			Username: opts.Credentials.Username, Password: opts.Credentials.Password, Token: opts.Token, OnToken: opts.OnToken,
		}),
		firstBoot: opts.FirstBoot,
	}, nil
}

// Password is the password that Ensure proved, empty before.
func (i *Initializer) Password() string { return i.session.Password() }

// Token of the login that was the proof, empty before.
func (i *Initializer) Token() string { return i.session.Token() }

// Session is the login of this Initializer, which others may use beside it, from any goroutine: Watch renews its token.
func (i *Initializer) Session() *garmapi.Session { return i.session }
