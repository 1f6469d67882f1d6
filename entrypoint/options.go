package main

import (
	"strings"
	"time"

	"garm-entrypoint/image"
)

// kind of an option's value.
type kind int

const (
	text kind = iota
	path
	toggle
	span // a duration
	octal
)

// Commands that an option can belong to.
const (
	cmdRun         = "run"
	cmdInit        = "init"
	cmdWatch       = "watch"
	cmdHealthcheck = "healthcheck"
	cmdCheck       = "check"
	cmdExec        = "exec"
	cmdVersion     = "version"
	cmdHelp        = "help"
)

// option is one row of the table that drives flags, variables, --help and the
// README's table.
type option struct {
	variable string
	kind     kind
	// def is the default as it is written; shown is what help says instead,
	// where the default is not a value.
	def, shown string
	// file: the form X_FILE exists.
	file bool
	// secret: no flag, since argv is public, and empty is a fault.
	secret bool
	// local: for the commands that deal with the server of this host only;
	// remote: for those that deal with GARM_SERVER only.
	local, remote bool
	// health: the health check takes it too.
	health bool
	help   string
	// store puts a value that has passed the kind's check into the settings.
	store func(*settings, string)
}

// Values of GARM_FIRST_BOOT.
const (
	firstBootAuto    = "auto"
	firstBootGuarded = "guarded"
	firstBootOpen    = "open"
)

// flag is the option's name on the command line.
func (o option) flag() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(o.variable, "GARM_")), "_", "-")
}

// appliesTo reports whether a command takes the option.
func (o option) appliesTo(command string) bool {
	switch command {
	case cmdRun, cmdCheck:
		return !o.remote
	case cmdInit, cmdWatch:
		return !o.local
	case cmdHealthcheck:
		return o.health
	}
	return false
}

// settings is everything that can be configured, filled and validated in one
// place. Its meaning for users stands in the options table.
type settings struct {
	Config, Binary string
	Init           bool

	Username, Password, Email, FullName string

	BaseURL                                      string
	MetadataURL, CallbackURL, WebhookURL, AgtURL string
	CABundle                                     string

	Server, ServerCA string

	FirstBoot, StateDir string

	StartTimeout, StopTimeout, WatchInterval, APITimeout time.Duration

	CLIProfile          bool
	Umask               int
	LogLevel, LogFormat string
}

var options = []option{
	{variable: "GARM_CONFIG", kind: path, def: image.ConfigPath, health: true,
		help:  "garm's config; one is generated where none exists",
		store: func(s *settings, v string) { s.Config = v }},
	{variable: "GARM_BINARY", kind: path, def: "garm", shown: "garm from PATH", local: true,
		help:  "the server",
		store: func(s *settings, v string) { s.Binary = v }},
	{variable: "GARM_INIT", kind: toggle, def: "true", local: true,
		help:  "false: supervise garm, initialise nothing",
		store: func(s *settings, v string) { s.Init = isTrue(v) }},
	{variable: "GARM_USERNAME", def: "admin", file: true,
		help:  "the admin: letters and digits, at most 64 bytes (garm's rule)",
		store: func(s *settings, v string) { s.Username = v }},
	{variable: "GARM_PASSWORD", shown: "generated", file: true, secret: true,
		help:  "his password: at most 72 bytes, strong by garm's verdict; a generated one is kept in GARM_STATE_DIR/admin-password",
		store: func(s *settings, v string) { s.Password = v }},
	{variable: "GARM_EMAIL", def: "admin@localhost", file: true,
		help:  "his e-mail address",
		store: func(s *settings, v string) { s.Email = v }},
	{variable: "GARM_FULL_NAME", def: "Admin", file: true,
		help:  "his full name",
		store: func(s *settings, v string) { s.FullName = v }},
	{variable: "GARM_BASE_URL", shown: "none", file: true, health: true,
		help:  "where runners and the forge reach the server; the four URLs below are derived from it",
		store: func(s *settings, v string) { s.BaseURL = v }},
	{variable: "GARM_METADATA_URL", shown: "from GARM_BASE_URL", file: true, health: true,
		help:  "where runners fetch what they need to set themselves up",
		store: func(s *settings, v string) { s.MetadataURL = v }},
	{variable: "GARM_CALLBACK_URL", shown: "from GARM_BASE_URL", file: true, health: true,
		help:  "where runners report to",
		store: func(s *settings, v string) { s.CallbackURL = v }},
	{variable: "GARM_WEBHOOK_URL", shown: "from GARM_BASE_URL", file: true,
		help:  "base of the URL that the forge sends its webhooks to",
		store: func(s *settings, v string) { s.WebhookURL = v }},
	{variable: "GARM_AGENT_URL", shown: "from GARM_BASE_URL", file: true,
		help:  "where garm's agents connect (garm v0.2.0 and later)",
		store: func(s *settings, v string) { s.AgtURL = v }},
	{variable: "GARM_CA_BUNDLE", kind: path, shown: "none",
		help:  "PEM file of CA certificates that the controller hands to runners (garm v0.2.0 and later)",
		store: func(s *settings, v string) { s.CABundle = v }},
	{variable: "GARM_SERVER", shown: "the local server of GARM_CONFIG", remote: true,
		help:  "URL of the server to initialise, a path prefix included",
		store: func(s *settings, v string) { s.Server = v }},
	{variable: "GARM_SERVER_CA", kind: path, shown: "the certificate in GARM_CONFIG, else the system's roots", remote: true,
		help:  "PEM file of CA certificates that GARM_SERVER's certificate is verified with",
		store: func(s *settings, v string) { s.ServerCA = v }},
	{variable: "GARM_FIRST_BOOT", def: firstBootAuto, local: true,
		help:  "guarded: garm runs on a loopback address only until it is initialised, and is then started on its real address; open: at once on its real address, where whoever comes first becomes admin; auto: guarded when the database is new",
		store: func(s *settings, v string) { s.FirstBoot = v }},
	{variable: "GARM_STATE_DIR", kind: path, shown: "directory of the sqlite file",
		help:  "where what must be kept is kept: the generated password, and the mark first-boot until the first proof",
		store: func(s *settings, v string) { s.StateDir = v }},
	{variable: "GARM_START_TIMEOUT", kind: span, def: "5m",
		help:  "from garm's start to initialised; 0: never give up",
		store: func(s *settings, v string) { s.StartTimeout = duration(v) }},
	{variable: "GARM_STOP_TIMEOUT", kind: span, def: "130s", local: true,
		help:  "from the first stop signal to SIGKILL (garm may need 60 s and more); 0: never",
		store: func(s *settings, v string) { s.StopTimeout = duration(v) }},
	{variable: "GARM_WATCH_INTERVAL", kind: span, def: "30s",
		help:  "how often to look again; 0: never",
		store: func(s *settings, v string) { s.WatchInterval = duration(v) }},
	{variable: "GARM_API_TIMEOUT", kind: span, def: "10m", local: true,
		help:  "no answer at all for this long while watching: stop garm, so that it is started again; 0: never",
		store: func(s *settings, v string) { s.APITimeout = duration(v) }},
	{variable: "GARM_CLI_PROFILE", kind: toggle, def: "true", local: true,
		help:  "keep a garm-cli profile under HOME, where garm-cli and a writable HOME exist",
		store: func(s *settings, v string) { s.CLIProfile = isTrue(v) }},
	{variable: "GARM_UMASK", kind: octal, def: "0077", local: true,
		help:  "for garm, which would create its database world-readable",
		store: func(s *settings, v string) { s.Umask = umask(v) }},
	{variable: "GARM_LOG_LEVEL", shown: "as garm's [logging]",
		help:  "debug, info, warn or error: our own lines, on stderr",
		store: func(s *settings, v string) { s.LogLevel = v }},
	{variable: "GARM_LOG_FORMAT", shown: "as garm's [logging]",
		help:  "text or json",
		store: func(s *settings, v string) { s.LogFormat = v }},
}
