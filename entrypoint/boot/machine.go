package boot

import (
	"log/slog"
	"time"

	"garm-entrypoint/supervisor"
)

// Boot is what the state machine in boot.go knows.
type Boot struct {
	plan      *Plan
	profile   *cliProfile // nil: none is kept
	log       *slog.Logger
	sup       *supervisor.Supervisor
	manager   serviceManager
	command   supervisor.Command
	userAgent string
	// began is when the first garm was started: GARM_START_TIMEOUT counts from there.
	began time.Time
	// token of the guarded boot's login.
	token string
	// guardProven: the guarded boot has said who the admin is.
	guardProven bool
	// oneShot: nobody but an init container's successor starts the real garm.
	oneShot bool
	// What is said once, whichever garm it is said of.
	saidUnsupported, saidRenewed bool
}

// garm is one start of it.
type garm struct {
	*supervisor.Child
	url     string
	started time.Time
	// answered is closed at the API's first answer.
	answered chan struct{}
	// ready: it was said to be, before it ended.
	ready bool
	// files is its limit of open files.
	files uint64
}

// after is how long ago something began.
func after(t time.Time) slog.Attr {
	return slog.Duration("after", time.Since(t).Round(time.Millisecond))
}
