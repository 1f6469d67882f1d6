package garmapi

import "context"

// SessionOptions are the credentials of a session.
type SessionOptions struct {
	Username string
	// Password; empty: not known, see Session.SetPassword.
	Password string
	// Token that an earlier login with these credentials returned; it is used until it is refused. May be empty.
	Token string
	// OnToken receives each token that a login returned; nil: nobody. It is called from the goroutine whose call logged
	// in, one call at a time, and must not use the session.
	OnToken func(token string)
}

// Session is a client who is logged in, or will be when it has to. It is safe for concurrent use: of several calls
// whose token is refused one logs in, and the others wait for it.
type Session struct {
	client   *Client
	username string
	onToken  func(string)
	// state is taken by whoever logs in or looks; a channel, so that who waits for a login may give up.
	state chan sessionState
}

type sessionState struct{ password, token string }

// NewSession returns a session; it sends nothing.
func NewSession(c *Client, o SessionOptions) *Session {
	s := &Session{client: c, username: o.Username, onToken: o.OnToken, state: make(chan sessionState, 1)}
	s.state <- sessionState{o.Password, o.Token}
	return s
}

// Client is the one that the session speaks through.
func (s *Session) Client() *Client { return s.client }

// Do sends a request as Client.Do does, and logs in before where there is no token, or once where the server refuses
// the one that there is: the request had no effect then. The error of a login is that of the call.
func (s *Session) Do(ctx context.Context, r Request) error {
	token, err := s.logInUnless(ctx, func(token string) bool { return token != "" })
	if err != nil {
		return err
	}
	err = s.client.Do(ctx, token, r)
	if !RefusesToken(err) {
		return err
	}
	refused := token
	if token, err = s.logInUnless(ctx, func(token string) bool { return token != "" && token != refused }); err != nil {
		return err
	}
	return s.client.Do(ctx, token, r)
}

// LogIn gets a new token, whatever there is. ErrNoPassword: nothing was sent.
func (s *Session) LogIn(ctx context.Context) error {
	_, err := s.logInUnless(ctx, func(string) bool { return false })
	return err
}

// Token is the one in use; empty: there is none.
func (s *Session) Token() string {
	now := <-s.state
	s.state <- now
	return now.token
}

// DropToken is for a token that the server refused. A newer one stays.
func (s *Session) DropToken(refused string) {
	s.change(func(now *sessionState) {
		if now.token == refused {
			now.token = ""
		}
	})
}

// Password is the one that logins use; empty: none is known.
func (s *Session) Password() string {
	now := <-s.state
	s.state <- now
	return now.password
}

// SetPassword is for one that was not known when the session was made, or turned out never to be in force.
func (s *Session) SetPassword(password string) {
	s.change(func(now *sessionState) { now.password = password })
}

func (s *Session) change(set func(*sessionState)) {
	now := <-s.state
	set(&now)
	s.state <- now
}

// logInUnless returns the token if it will do, else that of a new login.
func (s *Session) logInUnless(ctx context.Context, willDo func(token string) bool) (string, error) {
	var now sessionState
	select {
	case now = <-s.state:
	case <-ctx.Done():
		return "", &RequestError{Op: "login", err: ctx.Err(), text: ctx.Err().Error()}
	}
	defer func() { s.state <- now }()
	if willDo(now.token) {
		return now.token, nil
	}
	if now.password == "" {
		return "", ErrNoPassword
	}
	token, err := s.client.Login(ctx, s.username, now.password)
	if err != nil {
		return "", err
	}
	now.token = token
	if s.onToken != nil {
		s.onToken(token)
	}
	return token, nil
}
