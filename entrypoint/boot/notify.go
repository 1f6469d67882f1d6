package boot

import (
	"log/slog"
	"time"

	"garm-entrypoint/internal/sdnotify"
)

// notifyMargin is what a start or stop may take beyond our own timeouts: to kill garm and what it leaves behind, and to
// end.
const notifyMargin = 15 * time.Second

// serviceManager is the one that started us, if any: systemd, for a unit with Type=notify. It is told when garm is
// ready and when it stops, so that other units can be ordered after an initialised garm, and how long that may take, so
// that our timeouts count and not its own.
type serviceManager struct {
	socket string // empty: there is none
	log    *slog.Logger
}

func (m *serviceManager) tell(assignments ...string) {
	if m.socket == "" {
		return
	}
	if err := sdnotify.Send(m.socket, assignments...); err != nil {
		m.log.Warn(err.Error())
	}
}

// starting is for the time until ready.
func (m *serviceManager) starting(limit time.Duration, status string) {
	m.tell(append(extend(limit), sdnotify.Status(status))...)
}

// ready is also for a garm that serves without being initialised as configured: it is not to be stopped for that, which
// systemd would do in the end.
func (m *serviceManager) ready(status string) {
	m.tell(sdnotify.Ready, sdnotify.Status(status))
}

func (m *serviceManager) stopping(limit time.Duration, status string) {
	m.tell(append(extend(limit), sdnotify.Stopping, sdnotify.Status(status))...)
}

// extend asks for nothing when there is no limit: only TimeoutStartSec and TimeoutStopSec can say that.
func extend(limit time.Duration) []string {
	if limit == 0 {
		return nil
	}
	return []string{sdnotify.ExtendTimeout(limit + notifyMargin)}
}
