package main

import (
	"slices"
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
// table of docs/configuration.md.
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
	// use lists the commands that take it.
	use  string
	help string
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
	return slices.Contains(strings.Fields(o.use), command)
}

// Groups of commands.
const (
	// useOwn: those with a server of their own. check validates for run.
	useOwn = cmdRun + " " + cmdCheck
	// useOther: those for the server at GARM_SERVER.
	useOther = cmdInit + " " + cmdWatch
	useAll   = useOwn + " " + useOther
)

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
	{variable: "GARM_CONFIG", kind: path, def: image.ConfigPath, use: useAll + " " + cmdHealthcheck,
		help:  "garm's config; one is generated where none exists",
		store: func(s *settings, v string) { s.Config = v }},
	{variable: "GARM_BINARY", kind: path, def: "garm", shown: "garm from PATH", use: useOwn,
		help:  "the server",
		store: func(s *settings, v string) { s.Binary = v }},
	{variable: "GARM_INIT", kind: toggle, def: "true", use: useOwn,
		help:  "false: supervise garm, initialise nothing",
		store: func(s *settings, v string) { s.Init = isTrue(v) }},
	{variable: "GARM_USERNAME", def: "admin", file: true, use: useAll,
		help:  "the admin: letters and digits, at most 64 bytes (garm's rule)",
		store: func(s *settings, v string) { s.Username = v }},
	{variable: "GARM_PASSWORD", shown: "generated", file: true, secret: true, use: useAll,
		help:  "his password: at most 72 bytes, strong by garm's verdict; a generated one is kept in GARM_STATE_DIR/admin-password",
		store: func(s *settings, v string) { s.Password = v }},
	{variable: "GARM_EMAIL", def: "admin@localhost", file: true, use: useAll,
		help:  "his e-mail address",
		store: func(s *settings, v string) { s.Email = v }},
	{variable: "GARM_FULL_NAME", def: "Admin", file: true, use: useAll,
		help:  "his full name",
		store: func(s *settings, v string) { s.FullName = v }},
	{variable: "GARM_BASE_URL", shown: "none", file: true, use: useAll + " " + cmdHealthcheck,
		help:  "where runners and the forge reach the server; the four URLs below are derived from it",
		store: func(s *settings, v string) { s.BaseURL = v }},
	{variable: "GARM_METADATA_URL", shown: "from GARM_BASE_URL", file: true, use: useAll + " " + cmdHealthcheck,
		help:  "where runners fetch what they need to set themselves up",
		store: func(s *settings, v string) { s.MetadataURL = v }},
	{variable: "GARM_CALLBACK_URL", shown: "from GARM_BASE_URL", file: true, use: useAll + " " + cmdHealthcheck,
		help:  "where runners report to",
		store: func(s *settings, v string) { s.CallbackURL = v }},
	{variable: "GARM_WEBHOOK_URL", shown: "from GARM_BASE_URL", file: true, use: useAll,
		help:  "base of the URL that the forge sends its webhooks to",
		store: func(s *settings, v string) { s.WebhookURL = v }},
	{variable: "GARM_AGENT_URL", shown: "from GARM_BASE_URL", file: true, use: useAll,
		help:  "where garm's agents connect (garm v0.2.0 and later)",
		store: func(s *settings, v string) { s.AgtURL = v }},
	{variable: "GARM_CA_BUNDLE", kind: path, shown: "none", use: useAll,
		help:  "PEM file of CA certificates that the controller hands to runners (garm v0.2.0 and later)",
		store: func(s *settings, v string) { s.CABundle = v }},
	{variable: "GARM_SERVER", shown: "the local server of GARM_CONFIG", use: useOther,
		help:  "URL of the server to initialise, a path prefix included",
		store: func(s *settings, v string) { s.Server = v }},
	{variable: "GARM_SERVER_CA", kind: path, shown: "the certificate in GARM_CONFIG, else the system's roots", use: useOther,
		help:  "PEM file of CA certificates that GARM_SERVER's certificate is verified with",
		store: func(s *settings, v string) { s.ServerCA = v }},
	{variable: "GARM_FIRST_BOOT", def: firstBootAuto, use: useOwn,
		help:  "guarded: garm runs on a loopback address only until it is initialised, and is then started on its real address; open: at once on its real address, where whoever comes first becomes admin; auto: guarded when the database is new",
		store: func(s *settings, v string) { s.FirstBoot = v }},
	{variable: "GARM_STATE_DIR", kind: path, shown: "directory of the sqlite file", use: useAll,
		help:  "where what must be kept is kept: the generated password, and the mark first-boot until the first proof",
		store: func(s *settings, v string) { s.StateDir = v }},
	{variable: "GARM_START_TIMEOUT", kind: span, def: "5m", use: useOwn + " " + cmdInit,
		help:  "from garm's start to initialised; 0: never give up",
		store: func(s *settings, v string) { s.StartTimeout = duration(v) }},
	{variable: "GARM_STOP_TIMEOUT", kind: span, def: "130s", use: useOwn,
		help:  "from the first stop signal to SIGKILL (garm may need 60 s and more); 0: never",
		store: func(s *settings, v string) { s.StopTimeout = duration(v) }},
	{variable: "GARM_WATCH_INTERVAL", kind: span, def: "30s", use: useOwn + " " + cmdWatch,
		help:  "how often to look again; 0: never",
		store: func(s *settings, v string) { s.WatchInterval = duration(v) }},
	{variable: "GARM_API_TIMEOUT", kind: span, def: "10m", use: useOwn,
		help:  "no answer at all for this long while watching: stop garm, so that it is started again; 0: never",
		store: func(s *settings, v string) { s.APITimeout = duration(v) }},
	{variable: "GARM_CLI_PROFILE", kind: toggle, def: "true", use: useOwn,
		help:  "keep a garm-cli profile under HOME, where garm-cli and a writable HOME exist",
		store: func(s *settings, v string) { s.CLIProfile = isTrue(v) }},
	{variable: "GARM_UMASK", kind: octal, def: "0077", use: useOwn,
		help:  "for garm, which would create its database world-readable",
		store: func(s *settings, v string) { s.Umask = umask(v) }},
	{variable: "GARM_LOG_LEVEL", shown: "as garm's [logging]", use: useAll,
		help:  "debug, info, warn or error: our own lines, on stderr",
		store: func(s *settings, v string) { s.LogLevel = v }},
	{variable: "GARM_LOG_FORMAT", shown: "as garm's [logging]", use: useAll,
		help:  "text or json",
		store: func(s *settings, v string) { s.LogFormat = v }},
}
