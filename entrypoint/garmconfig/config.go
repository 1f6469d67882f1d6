package garmconfig

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"garm-entrypoint/internal/durable"
)

// Config is what we need to know of garm's config.toml. It holds no secret that could be printed by accident.
type Config struct {
	Path string // of the file itself

	Bind             string // [apiserver]: an IP address as written, and a port
	Port             int
	TLS              bool
	Certificate, Key string // paths; empty without TLS

	Backend    string // [database]: sqlite3, mysql or postgresql
	SQLiteFile string // the file that is really opened; empty for another backend

	LogLevel, LogFormat string // [logging], with garm's defaults info and text
	LogFile             string // empty: standard output

	MetadataURL, CallbackURL, WebhookURL string // [default]

	// Providers is how many [[provider]] sections there are.
	Providers int

	// Warnings name what garm takes though it cannot work, or should not be: one line each, in the order of the file.
	// Only Load looks for them.
	Warnings []string

	root table // the whole file, to derive others from
}

// Load reads the config at path and checks it and the files it names, writing nothing. Its error joins all faults, one
// per line, each naming file, key and cure; none of them holds a value that may be secret. A missing file gives an
// error that wraps os.ErrNotExist.
//
// Nothing is refused with which garm v0.2.1 would serve, save a log_file that cannot be written (garm then serves and
// logs nothing anywhere), and, while the database is new, a placeholder of a template that nobody filled in.
func Load(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	config, faults := parse(path, data)
	if config != nil {
		config.checkFiles(faults)
		config.checkProviders(faults)
		config.checkUnfilled(faults)
		config.Warnings = faults.sorted(faults.warnings)
	}
	return result(config, faults)
}

// Read is Load without a look at the other files: enough to reach a server that runs already, whoever asks.
func Read(path string) (*Config, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse is Read for a config that was read already; path is for messages.
func Parse(path string, data []byte) (*Config, error) { return result(parse(path, data)) }

func result(config *Config, faults *faults) (*Config, error) {
	if err := faults.err(); err != nil {
		return nil, err
	}
	return config, nil
}

// readFile reads a regular file. Anything else could be read once only, by us or by garm.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		return nil, fmt.Errorf("cannot read %s: it is a directory: "+
			"Docker makes one when the file to be mounted is missing on the host: put the file there, or set GARM_CONFIG", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("cannot read %s: it is not a regular file: garm must be able to read it too", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, durable.Explain(err, path))
	}
	return data, nil
}

// ListenAddress is where the server listens, host:port.
func (c *Config) ListenAddress() string { return net.JoinHostPort(c.Bind, strconv.Itoa(c.Port)) }

// DialAddress is where the server is reached from its own host, host:port. An unspecified bind address becomes the
// loopback of its family, any other is dialled as it is. Where a host has no ::1 (Docker without IPv6), 127.0.0.1
// reaches a server on :: as well.
func (c *Config) DialAddress() string {
	host := c.Bind
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.To4() == nil && hasLoopback6() {
			host = "::1"
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(c.Port))
}

// BaseURL is the server's URL on its own host, without a slash at the end.
func (c *Config) BaseURL() string { return c.URLAt(c.DialAddress()) }

// URLAt is BaseURL for a server with this config that listens on another address, host:port.
func (c *Config) URLAt(address string) string {
	if c.TLS {
		return "https://" + address
	}
	return "http://" + address
}

func hasLoopback6() bool {
	conn, err := net.ListenUDP("udp6", &net.UDPAddr{IP: net.IPv6loopback})
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
