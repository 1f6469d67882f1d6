package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// stopTimeout is how long a part of the node may take to end before it is killed.
const stopTimeout = 30 * time.Second

// process is one part of the node that runs. Its output is in a file of its name.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // why it ended, valid after done
}

// start starts a program with its output in dir.
func start(dir, program string, args ...string) (*process, error) {
	p := &process{name: filepath.Base(program), cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.log = filepath.Join(dir, p.name+".log")
	output, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	defer func() { _ = output.Close() }()
	p.cmd.Stdout, p.cmd.Stderr = output, output
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ended tells why the process is no longer there, and nil while it is.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %v, see %s:\n%s", p.name, p.err, p.log, tail(p.log))
	default:
		return nil
	}
}

// stop ends the process, and kills it if it takes longer than stopTimeout.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not end within %v and was killed", p.name, stopTimeout)
	}
}

// tail returns the end of a log.
func tail(path string) string {
	const most = 4000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-most):])
}

// run runs a program to its end. Its output is part of the error.
func run(program string, args ...string) error {
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", filepath.Base(program), args, err, out)
	}
	return nil
}
