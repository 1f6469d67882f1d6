package main

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// check validates everything that can be validated without exposing a server,
// asks garm itself, and says what a start would do. It leaves nothing behind.
func (a *app) check(inv invocation) int {
	s, warnings, err := readSettings(cmdCheck, inv.flags, a.env)
	p, planErr := makePlan(s)
	binary, binaryErr := a.lookPath(s.Binary)
	if err = errors.Join(err, planErr, binaryErr); err != nil {
		a.printFaults(err)
		return exitConfig
	}
	verdict := "garm's verdict: good (asked on a throw-away database)"
	switch err := a.trial(p, binary); {
	case errors.Is(err, errNoTrial):
		verdict = "garm's verdict: not asked: " + err.Error()
	case errors.As(err, new(*stoppedError)):
		return a.fail(err)
	case err != nil:
		a.printFaults(err)
		return exitConfig
	}
	warnings = append(warnings, p.config.Warnings...)
	if w := p.listenWarning(); w != "" {
		warnings = append(warnings, w)
	}
	for _, w := range warnings {
		fmt.Fprintln(a.stdout, "warning:", w)
	}
	for _, line := range p.describe() {
		fmt.Fprintln(a.stdout, line)
	}
	fmt.Fprintln(a.stdout, verdict)
	return exitOK
}

// listenWarning says why garm could not listen here and now. It is no fault: the
// one who listens may be the garm that is to be started again, and the address
// that of a pod to come.
func (p *plan) listenWarning() string {
	address := p.config.ListenAddress()
	switch err := tryBind(address); {
	case errors.Is(err, syscall.EADDRINUSE):
		return "somebody listens on " + address + " already: garm would end with 1, unless it is that garm and is stopped first"
	case err != nil:
		return "garm could not listen on " + address + " here: " + err.Error()
	}
	return ""
}

// tryBind binds a socket as net.Listen would, and does not listen: with
// SO_REUSEADDR it is in nobody's way, not even in that of a garm that starts at
// this moment.
func tryBind(address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	family, socket := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()})
	if to.Addr().Is4() && !to.Addr().IsUnspecified() {
		family, socket = unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	} else if to.Addr().IsUnspecified() { // both families
		socket = &unix.SockaddrInet6{Port: int(to.Port())}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil // a host without IPv6: only garm can tell
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}
	return unix.Bind(fd, socket)
}

// describe says what a start would do.
func (p *plan) describe() []string {
	config := "config " + p.config.Path + ": good"
	if p.generated != nil {
		config = "config " + p.config.Path + ": does not exist, would be generated"
	}
	lines := []string{config, "server: " + p.config.BaseURL()}
	switch {
	case p.newDatabase && p.guarded():
		lines = append(lines, "database: new, the first boot would be guarded")
	case p.newDatabase:
		lines = append(lines, "database: new")
	default:
		lines = append(lines, "database: exists")
	}
	switch {
	case !p.settings.Init:
		lines = append(lines, "initialising: switched off")
	case p.makePassword:
		lines = append(lines, "password: would be generated and kept in "+p.keeper.path)
	case p.password == "":
		lines = append(lines, "password: none is known, so an existing admin could not be logged in")
	case p.passwordKept():
		lines = append(lines, "password: kept in "+p.keeper.path)
	default:
		lines = append(lines, "password: as configured")
	}
	return lines
}
