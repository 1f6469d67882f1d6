package boot

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Describe says, a line a subject, what a start would do.
func (p *Plan) Describe() []string {
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
		lines = append(lines, "password: would be generated and kept in "+p.keeper.Path())
	case p.password == "":
		lines = append(lines, "password: none is known, so an existing admin could not be logged in")
	case p.passwordKept():
		lines = append(lines, "password: kept in "+p.keeper.Path())
	default:
		lines = append(lines, "password: as configured")
	}
	if p.declared != nil {
		lines = append(lines, fmt.Sprintf("provision files: good, %d objects declared", len(p.declared.Objects)))
	}
	return lines
}

// Warnings are about what was read and is allowed, and yet hardly meant.
func (p *Plan) Warnings() []string {
	warnings := slices.Concat(p.config.Warnings, p.settings.Remarks(p.config))
	if p.declared != nil {
		warnings = append(warnings, p.declared.Warnings...)
	}
	return warnings
}

// ListenWarning says why garm could not listen here and now. It is no fault: the one who listens may be the garm that
// is to be started again, and the address that of a pod to come.
func (p *Plan) ListenWarning() string {
	address := p.config.ListenAddress()
	switch err := tryBind(address); {
	case errors.Is(err, syscall.EADDRINUSE):
		return "somebody listens on " + address + " already: garm would end with 1, unless it is that garm and is stopped first"
	case err != nil:
		return "garm could not listen on " + address + " here: " + err.Error()
	}
	return ""
}

// tryBind binds a socket as net.Listen would, and does not listen: with SO_REUSEADDR it is in nobody's way, not even in
// that of a garm that starts at this moment.
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
