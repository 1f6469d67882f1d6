package boot

import (
	"log/slog"
	"path/filepath"
	"syscall"

	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/sdnotify"
	"garm-entrypoint/supervisor"
	"garm-entrypoint/supervisor/signals"
)

// Process is what main takes from the outside and hands down.
type Process struct {
	// Binary is the path of garm, Args what it gets beside --config.
	Binary string
	Args   []string
	// Env is our environment; garm gets it without our secrets and without the service manager's socket.
	Env     settings.Environment
	Signals *signals.Trap
	Log     *slog.Logger
	// UserAgent is what garm's access log shows.
	UserAgent string
	// OneShot ends where a guarded first boot would go on to the real garm: for an init container.
	OneShot bool
}

// New carries the plan out, which writes what has to be generated, and says so. Whoever gets a Boot closes it.
func New(p *Plan, process Process) (*Boot, error) {
	sup, err := supervisor.New(supervisor.Options{Logger: process.Log, Signals: process.Signals})
	if err != nil {
		return nil, err
	}
	if err := p.carryOut(); err != nil {
		sup.Close()
		return nil, err
	}
	if err := p.tidy(); err != nil {
		process.Log.Debug("cannot look for what a killed start left behind", slog.Any("error", err))
	}
	p.announce(process.Log)
	// garm does not inherit the socket: whatever it or a provider said there would not be meant for our unit.
	socket, _ := process.Env.Get(sdnotify.Variable)
	return &Boot{
		plan:      p,
		profile:   newCLIProfile(p.settings, process.Env, p.config.BaseURL(), process.Log),
		log:       process.Log,
		sup:       sup,
		manager:   serviceManager{socket: socket, log: process.Log},
		oneShot:   process.OneShot,
		userAgent: process.UserAgent,
		command: supervisor.Command{
			Path:        process.Binary,
			Args:        append([]string{filepath.Base(process.Binary), "--config", p.config.Path}, process.Args...),
			Env:         p.garmsEnvironment(process.Env).Without(sdnotify.Variable),
			Umask:       p.settings.Umask,
			StopTimeout: p.settings.StopTimeout,
			Hold:        []syscall.Signal{syscall.SIGHUP},
		},
	}, nil
}

// Close gives the signals back.
func (b *Boot) Close() { b.sup.Close() }
