package testgarm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proc is a running process, in a process group of its own.
type Proc struct {
	t              testing.TB
	cmd            *exec.Cmd
	stdout, stderr output
	ended          chan struct{} // closed when the process is gone and its output read
	code           int           // valid after ended
	endedAt        time.Time     // valid after ended
}

// drainGrace is how long output is waited for that a process left in its pipe.
const drainGrace = 100 * time.Millisecond

// output is what a process wrote to one descriptor so far.
type output struct {
	lock    sync.Mutex
	data    bytes.Buffer
	drained chan struct{}
}

func (o *output) String() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.data.String()
}

// capture returns the end to write to; the caller closes it.
func (o *output) capture() (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	o.drained = make(chan struct{})
	go func() {
		defer close(o.drained)
		defer r.Close()
		block := make([]byte, 32<<10)
		for {
			n, err := r.Read(block)
			o.lock.Lock()
			o.data.Write(block[:n])
			o.lock.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return w, nil
}

// Start runs bin. Its environment is PATH and env, nothing else of ours. When the test ends, the process, its group and
// all its descendants are killed, and its output is shown if the test failed.
func Start(t testing.TB, bin string, args, env []string) *Proc {
	t.Helper()
	p := &Proc{t: t, cmd: exec.Command(bin, args...), ended: make(chan struct{})}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := p.stdout.capture()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	stderr, err := p.stderr.capture()
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.wait()
	t.Cleanup(p.cleanup)
	return p
}

// wait notes the end. Descendants may keep the pipes open: only what is in them already is waited for.
func (p *Proc) wait() {
	_ = p.cmd.Wait() // the status says it all
	p.endedAt = time.Now()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.code = status.ExitStatus()
	if status.Signaled() {
		p.code = 128 + int(status.Signal())
	}
	for _, o := range []*output{&p.stdout, &p.stderr} {
		select {
		case <-o.drained:
		case <-time.After(drainGrace):
		}
	}
	close(p.ended)
}

func (p *Proc) cleanup() {
	tree := descendants(p.Pid())
	_ = syscall.Kill(-p.Pid(), syscall.SIGKILL) // the group outlives its leader
	for _, pid := range tree {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.ended
	if p.t.Failed() {
		p.t.Logf("%s\n--- stdout\n%s--- stderr\n%s--- ended with %d", p.cmd, p.Stdout(), p.Stderr(), p.code)
	}
}

// Pid is the process's id, and that of its group.
func (p *Proc) Pid() int { return p.cmd.Process.Pid }

// Stdout is what was written to standard output so far.
func (p *Proc) Stdout() string { return p.stdout.String() }

// Stderr is what was written to standard error so far.
func (p *Proc) Stderr() string { return p.stderr.String() }

// Output is Stdout and Stderr, one after the other.
func (p *Proc) Output() string { return p.Stdout() + p.Stderr() }

// Ended is closed when the process has ended.
func (p *Proc) Ended() <-chan struct{} { return p.ended }

// EndedAt is when the process was seen to have ended; call Wait first.
func (p *Proc) EndedAt() time.Time { return p.endedAt }

// Signal sends a signal to the process alone. A process that has ended is no failure.
func (p *Proc) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// Wait returns the exit status, 128+N after signal N as a shell reports it. The test fails when the process does not
// end in time.
func (p *Proc) Wait(timeout time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.code
	case <-time.After(timeout):
		p.t.Fatalf("%s has not ended after %v", p.cmd.Path, timeout)
		return -1
	}
}

// WaitFor waits for a line of the output that matches the regular expression and returns it, standard output first. The
// test fails when it does not come in time, or cannot come any more.
func (p *Proc) WaitFor(pattern string, timeout time.Duration) string {
	p.t.Helper()
	line := regexp.MustCompile("(?m)^.*(?:" + pattern + ").*$")
	deadline := time.Now().Add(timeout)
	for {
		over := fmt.Sprintf("after %v", timeout)
		select {
		case <-p.ended:
			over = fmt.Sprintf("and it ended with %d", p.code)
			deadline = time.Time{}
		default:
		}
		for _, text := range []string{p.Stdout(), p.Stderr()} {
			if found := line.FindString(text); found != "" {
				return strings.TrimSuffix(found, "\r")
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s has not written %q %s", p.cmd.Path, pattern, over)
		}
		time.Sleep(pollStep)
	}
}
