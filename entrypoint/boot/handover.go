package boot

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// pipedConfig is where garm finds the config that it inherits as its first file beyond the standard ones.
const pipedConfig = "/proc/self/fd/3"

// pipeOf returns the reading end of a pipe that yields data once.
func pipeOf(data []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot hand garm its config: %w", err)
	}
	go func() {
		defer w.Close()
		_, _ = w.Write(data) // a garm that dies before it has read everything says so itself
	}()
	return r, nil
}

// startOn starts garm on a config that it gets through a pipe.
func (b *Boot) startOn(config []byte, url string) (*garm, error) {
	r, err := pipeOf(config)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := b.command
	cmd.Files = []*os.File{r}
	cmd.Args = slices.Clone(cmd.Args)
	cmd.Args[slices.Index(cmd.Args, "--config")+1] = pipedConfig
	return b.start(cmd, url)
}

// startReal starts garm on its real address: on the config's file, unless that lacks secrets which are given elsewhere.
func (b *Boot) startReal() (*garm, error) {
	config, url := b.plan.config, b.plan.config.BaseURL()
	attrs := []any{slog.String("binary", b.command.Path), slog.String("config", config.Path)}
	if len(config.LaidOver) == 0 {
		b.log.Info("starting garm", attrs...)
		return b.start(b.command, url)
	}
	b.log.Info("starting garm", append(attrs, slog.String("laid_over", strings.Join(config.LaidOver, ", ")))...)
	whole, err := config.Whole()
	if err != nil {
		return nil, err
	}
	return b.startOn(whole, url)
}

// freeLoopback returns an address that nobody listens on now.
func freeLoopback() (netip.AddrPort, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("cannot find a free port on 127.0.0.1 for the first boot: %w", err)
	}
	defer l.Close()
	return netip.ParseAddrPort(l.Addr().String())
}
