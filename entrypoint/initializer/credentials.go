package initializer

import (
	"errors"
	"fmt"
	"unicode/utf8"

	garmutil "github.com/cloudbase/garm-provider-common/util"
	garmparams "github.com/cloudbase/garm/params"
)

// Limits of garm v0.1.4 to v0.2.1.
const (
	// MaxPassword is bcrypt's limit in bytes: garm answers a longer password with 500 and no reason, after scoring it
	// for as long as it takes.
	MaxPassword = 72
	// maxUsername is the width of garm's column, in bytes.
	maxUsername = 64
)

// Credentials of the admin.
type Credentials struct {
	Username string
	Password string
	Email    string
	FullName string
}

// user is what garm's first run takes.
func (c Credentials) user() garmparams.NewUserParams {
	return garmparams.NewUserParams{Username: c.Username, Password: c.Password, Email: c.Email, FullName: c.FullName}
}

// Validate applies garm's own rules, as far as they need no server: whether a password is strong enough is garm's
// verdict. All faults are in the one error; none shows the password.
func (c Credentials) Validate() error {
	var faults []error
	switch {
	case c.Username == "":
		faults = append(faults, errors.New("cannot use the user name: it is empty"))
	case len(c.Username) > maxUsername:
		faults = append(faults, fmt.Errorf("cannot use the user name: it has %d bytes, garm takes at most %d", len(c.Username), maxUsername))
	case !garmutil.IsAlphanumeric(c.Username):
		faults = append(faults, fmt.Errorf("cannot use the user name %q: garm takes letters and digits only", c.Username))
	}
	if !garmutil.IsValidEmail(c.Email) {
		faults = append(faults, fmt.Errorf("cannot use the e-mail address %q: garm does not take it as one (something like admin@localhost)", c.Email))
	}
	if n := len(c.Password); n > MaxPassword {
		faults = append(faults, fmt.Errorf("cannot use the password: it has %d bytes, garm takes at most %d", n, MaxPassword))
	}
	// JSON would silently replace what is not UTF-8, and the admin would get another password than the one that was
	// configured.
	for _, f := range []struct{ name, value string }{{"password", c.Password}, {"full name", c.FullName}} {
		if !utf8.ValidString(f.value) {
			faults = append(faults, fmt.Errorf("cannot use the %s: it is not valid UTF-8", f.name))
		}
	}
	return errors.Join(faults...)
}
