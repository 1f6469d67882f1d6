package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long anything may take before we give up.
const patience = time.Minute

// process is one that we started, in a session of its own: a terminal that we may have is not its business.
type process struct {
	b         *bench
	pid       int
	in, out   *os.File // its standard input and output
	err       *os.File // its standard error, where it was asked for; else it is ours
	announced time.Duration
}

// how a process is started.
type how struct {
	pid1   bool
	env    []string
	errors bool     // read its standard error
	output *os.File // takes its standard output; nil: a pipe
}

// monotonic is the clock that the probe reads too.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // Linux has this clock
	}
	return time.Duration(now.Nano())
}

// launch starts argv through the probe, which says when it executes it: that is announced.
func (b *bench) launch(h how, argv ...string) *process {
	mode := "plain"
	if h.pid1 {
		mode = "pid1"
	}
	p := b.start(h, append([]string{b.probe, "launch", mode}, argv...)...)
	p.announced = p.stamp()
	return p
}

// start starts argv itself.
func (b *bench) start(h how, argv ...string) *process {
	b.Helper()
	p := &process{b: b}
	files := []*os.File{b.pipe(&p.in, true), h.output, os.Stderr}
	if h.output == nil {
		files[1] = b.pipe(&p.out, false)
		defer files[1].Close()
	}
	defer files[0].Close()
	if h.errors {
		files[2] = b.pipe(&p.err, false)
		defer files[2].Close()
	}
	attr := &syscall.ProcAttr{Env: append([]string{"PATH=/usr/bin:/bin"}, h.env...), Sys: &syscall.SysProcAttr{Setsid: true}}
	if h.pid1 {
		attr.Sys.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	b.live.Lock()
	defer b.live.Unlock()
	var err error
	if p.pid, err = syscall.ForkExec(argv[0], argv, attr); err != nil {
		b.Fatalf("cannot start %s: %v", argv[0], err)
	}
	b.live.pids[p.pid] = true
	return p
}

// pipe puts our end to where ours points, the writing one if so told, and returns the other.
func (b *bench) pipe(ours **os.File, write bool) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	if write {
		*ours = w
		return r
	}
	*ours = r
	return w
}

// stamp is the next moment that the probe wrote.
func (p *process) stamp() time.Duration {
	p.b.Helper()
	var moment [8]byte
	_ = p.out.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(p.out, moment[:]); err != nil {
		p.b.Fatalf("cannot read what the probe measured: %v", err)
	}
	return time.Duration(binary.NativeEndian.Uint64(moment[:]))
}

// goOn lets a probe do what it waits with.
func (p *process) goOn() {
	if _, err := p.in.Write([]byte{0}); err != nil {
		p.b.Fatal(err)
	}
}

func (p *process) signal(sig syscall.Signal) {
	if err := syscall.Kill(p.pid, sig); err != nil {
		p.b.Fatal(err)
	}
}

// wait returns the exit status, and when we knew it.
func (p *process) wait() (code int, at time.Duration) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.pid, &status, 0, nil)
		at = monotonic()
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			p.b.Fatal(err)
		}
	}
	p.b.live.forget(p.pid)
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if f != nil {
			f.Close()
		}
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), at
	}
	return status.ExitStatus(), at
}

// kill ends a process, as PID 1 with all that is below; the probe dies with its parent in any case.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	p.wait()
}

// expect waits for the end with this status.
func (p *process) expect(code int) {
	p.b.Helper()
	if got, _ := p.wait(); got != code {
		p.b.Fatalf("a measured process ended with %d and not %d", got, code)
	}
}
