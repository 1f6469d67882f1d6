package boot

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/listener"
)

// options for the initialiser of the server at baseURL, which is the process pid or a descendant of it.
func (p *Plan) options(baseURL string, pid int, userAgent string) (initializer.Options, error) {
	server, err := url.Parse(baseURL)
	if err != nil {
		return initializer.Options{}, fmt.Errorf("cannot use the server's address: %w", err)
	}
	credentials := p.settings.Credentials()
	credentials.Password = p.password
	return initializer.Options{
		Server: server,
		// No proxy: HTTP_PROXY is not meant for a server on this host.
		Transport:      toProcess(initializer.NewTransport(initializer.Trust{Certificate: p.certificate}, nil), pid),
		UserAgent:      userAgent,
		Credentials:    credentials,
		NewPassword:    p.keeper.Create,
		ForgetPassword: p.keeper.Forget,
		FirstBoot:      p.newDatabase,
		Want:           p.want,
		Fallback:       settings.Fallback(p.config),
		Interval:       p.settings.WatchInterval,
		SilenceLimit:   p.settings.APITimeout,
	}, nil
}

// toProcess makes a transport speak to nobody but a process and its descendants: whoever else holds the port, on this
// host or, where the bind address is not ours, on another one, gets no byte.
func toProcess(t *http.Transport, pid int) *http.Transport {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if peer, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
			if err := listener.HeldBy(pid, peer); err != nil {
				_ = conn.Close()
				return nil, err
			}
		}
		return conn, nil
	}
	return t
}
