package boot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/supervisor"
)

// trialTimeout bounds a trial. garm starts within a second or two.
const trialTimeout = time.Minute

// ErrNoTrial: there is no place for a throw-away database.
var ErrNoTrial = errors.New("there is no directory for a throw-away database: set TMPDIR to a writable one")

// Trial asks garm itself what it thinks of the configuration: it starts it on a loopback address with a throw-away
// database, initialises it as a first boot would, and stops it. nil means that garm accepts everything; ErrNoTrial,
// that it could not be asked; a *StoppedError, that a signal came first.
func Trial(p *Plan, process Process) error {
	dir, err := trialDir(p)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address, err := freeLoopback()
	if err != nil {
		return err
	}
	config, err := p.config.Trial(address, dir)
	if err != nil {
		return err
	}
	sup, err := supervisor.New(supervisor.Options{Logger: process.Log, Signals: process.Signals})
	if err != nil {
		return err
	}
	defer sup.Close()
	r, err := pipeOf(config)
	if err != nil {
		return err
	}
	defer r.Close()
	child, err := sup.Start(supervisor.Command{
		Path: process.Binary, Args: []string{filepath.Base(process.Binary), "--config", pipedConfig}, Files: []*os.File{r},
		Env: p.garmsEnvironment(process.Env), Umask: 0o077, StopTimeout: trialTimeout,
	})
	if err != nil {
		return err
	}
	err = p.tryOn(child, process.UserAgent, p.config.URLAt(address.String()))
	child.Stop()
	status := child.Status()
	switch {
	case sup.StopSignal() != 0:
		return &StoppedError{sup.StopSignal()}
	case errors.Is(err, errTrialEnded):
		return fmt.Errorf("cannot use the configuration: garm ends with %s: %s", status, lastLine(garmconfig.TrialLog(dir)))
	}
	return err
}

// errTrialEnded: garm ended before it was asked to.
var errTrialEnded = errors.New("garm ended")

// tryOn initialises the server of a trial.
func (p *Plan) tryOn(child *supervisor.Child, userAgent, url string) error {
	options, err := p.options(url, child.Pid(), userAgent)
	if err != nil {
		return err
	}
	// What an existing admin's password is worth, nobody asks again.
	if options.Credentials.Password == "" || !p.settings.Init || !p.newDatabase {
		if options.Credentials.Password, err = state.NewPassword(); err != nil {
			return err
		}
	}
	options.FirstBoot = true
	i, err := initializer.New(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), trialTimeout)
	defer cancel()
	go func() {
		<-child.Done()
		cancel()
	}()
	_, err = i.Ensure(ctx)
	select {
	case <-child.Done():
		return errTrialEnded
	default:
		return err
	}
}

// trialDir makes a directory where one can be made: images such as upstream's have no /tmp.
func trialDir(p *Plan) (string, error) {
	for _, parent := range []string{os.TempDir(), "/dev/shm", filepath.Dir(p.config.Path)} {
		if dir, err := os.MkdirTemp(parent, trialPattern); err == nil {
			removeStaleTrials(parent)
			return dir, nil
		}
	}
	return "", ErrNoTrial
}

const trialPattern = ".garm-entrypoint-trial-*"

// removeStaleTrials removes what trials left behind that were killed. One that is under way is younger than its
// timeout.
func removeStaleTrials(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, trialPattern))
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > 2*trialTimeout {
			_ = os.RemoveAll(dir) // not ours, then
		}
	}
}

// lastLine of garm's log is where it says why it ended.
func lastLine(path string) string {
	data, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return "it said why above"
}
