package settings

import (
	"slices"
	"strings"

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

// Commands of the command line; an option can belong to some of them.
const (
	CmdRun         = "run"
	CmdInit        = "init"
	CmdWatch       = "watch"
	CmdHealthcheck = "healthcheck"
	CmdCheck       = "check"
	CmdPlan        = "plan"
	CmdApply       = "apply"
	CmdExport      = "export"
	CmdExec        = "exec"
	CmdVersion     = "version"
	CmdHelp        = "help"
)

// Option is one row of the table that drives flags, variables, --help and the table of docs/configuration.md.
type Option struct {
	Variable string
	kind     kind
	// Default is as it is written; Shown is what help says instead, where the default is not a value.
	Default, Shown string
	// File: the form X_FILE exists.
	File bool
	// Secret: no flag, since argv is public, and empty is a fault.
	Secret bool
	// Use lists the commands that take it, with blanks between them.
	Use  string
	Help string
	// store puts a value that has passed the kind's check into the settings.
	store func(*Settings, string)
}

// Values of GARM_FIRST_BOOT.
const (
	FirstBootAuto    = "auto"
	FirstBootGuarded = "guarded"
	FirstBootOpen    = "open"
)

// Flag is the option's name on the command line.
func (o Option) Flag() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(o.Variable, "GARM_")), "_", "-")
}

// Toggle reports that the flag needs no value.
func (o Option) Toggle() bool { return o.kind == toggle }

// AppliesTo reports whether a command takes the option.
func (o Option) AppliesTo(command string) bool {
	return slices.Contains(strings.Fields(o.Use), command)
}

// Groups of commands.
const (
	// useOwn: those with a server of their own. check validates for run.
	useOwn = CmdRun + " " + CmdCheck
	// useProvision: those that compare a server with provision files, and do nothing else.
	useProvision = CmdPlan + " " + CmdApply + " " + CmdExport
	// useOther: those for the server at GARM_SERVER.
	useOther = CmdInit + " " + CmdWatch + " " + useProvision
	useAll   = useOwn + " " + useOther
	// useInit: those that bring a server to the initialised state.
	useInit = useOwn + " " + CmdInit + " " + CmdWatch
)

// Options is the one table of options: flags, variables, --help and the tables of the documents come from it.
var Options = []Option{
	{Variable: "GARM_CONFIG", kind: path, Default: image.ConfigPath, Use: useAll + " " + CmdHealthcheck,
		Help:  "garm's config; one is generated where none exists",
		store: func(s *Settings, v string) { s.Config = v }},
	{Variable: "GARM_BINARY", kind: path, Default: "garm", Shown: "garm from PATH", Use: useOwn,
		Help:  "the server",
		store: func(s *Settings, v string) { s.Binary = v }},
	{Variable: "GARM_INIT", kind: toggle, Default: "true", Use: useOwn,
		Help:  "false: supervise garm, initialise nothing",
		store: func(s *Settings, v string) { s.Init = isTrue(v) }},
	{Variable: "GARM_USERNAME", Default: "admin", File: true, Use: useAll,
		Help:  "the admin: letters and digits, at most 64 bytes (garm's rule)",
		store: func(s *Settings, v string) { s.Username = v }},
	{Variable: "GARM_PASSWORD", Shown: "generated", File: true, Secret: true, Use: useAll,
		Help:  "his password: at most 72 bytes, strong by garm's verdict; a generated one is kept in GARM_STATE_DIR/admin-password",
		store: func(s *Settings, v string) { s.Password = v }},
	{Variable: "GARM_EMAIL", Default: "admin@localhost", File: true, Use: useInit,
		Help:  "his e-mail address",
		store: func(s *Settings, v string) { s.Email = v }},
	{Variable: "GARM_FULL_NAME", Default: "Admin", File: true, Use: useInit,
		Help:  "his full name",
		store: func(s *Settings, v string) { s.FullName = v }},
	{Variable: "GARM_BASE_URL", Shown: "none", File: true, Use: useInit + " " + CmdHealthcheck,
		Help:  "where runners and the forge reach the server; the four URLs below are derived from it",
		store: func(s *Settings, v string) { s.BaseURL = v }},
	{Variable: "GARM_METADATA_URL", Shown: "from GARM_BASE_URL", File: true, Use: useInit + " " + CmdHealthcheck,
		Help:  "where runners fetch what they need to set themselves up",
		store: func(s *Settings, v string) { s.MetadataURL = v }},
	{Variable: "GARM_CALLBACK_URL", Shown: "from GARM_BASE_URL", File: true, Use: useInit + " " + CmdHealthcheck,
		Help:  "where runners report to",
		store: func(s *Settings, v string) { s.CallbackURL = v }},
	{Variable: "GARM_WEBHOOK_URL", Shown: "from GARM_BASE_URL", File: true, Use: useInit,
		Help:  "base of the URL that the forge sends its webhooks to",
		store: func(s *Settings, v string) { s.WebhookURL = v }},
	{Variable: "GARM_AGENT_URL", Shown: "from GARM_BASE_URL", File: true, Use: useInit,
		Help:  "where garm's agents connect (garm v0.2.0 and later)",
		store: func(s *Settings, v string) { s.AgentURL = v }},
	{Variable: "GARM_CA_BUNDLE", kind: path, Shown: "none", Use: useInit,
		Help:  "PEM file of CA certificates that the controller hands to runners (garm v0.2.0 and later)",
		store: func(s *Settings, v string) { s.CABundle = v }},
	{Variable: "GARM_SERVER", Shown: "the local server of GARM_CONFIG", Use: useOther,
		Help:  "URL of the server to initialise, a path prefix included",
		store: func(s *Settings, v string) { s.Server = v }},
	{Variable: "GARM_SERVER_CA", kind: path, Shown: "the certificate in GARM_CONFIG, else the system's roots", Use: useOther,
		Help:  "PEM file of CA certificates that GARM_SERVER's certificate is verified with",
		store: func(s *Settings, v string) { s.ServerCA = v }},
	{Variable: "GARM_FIRST_BOOT", Default: FirstBootAuto, Use: useOwn,
		Help:  "guarded: garm runs on a loopback address only until it is initialised, and is then started on its real address; open: at once on its real address, where whoever comes first becomes admin; auto: guarded when the database is new",
		store: func(s *Settings, v string) { s.FirstBoot = v }},
	{Variable: "GARM_STATE_DIR", kind: path, Shown: "directory of the sqlite file", Use: useAll,
		Help:  "where what must be kept is kept: the generated password, the mark first-boot until the first proof, and what provisioning remembers",
		store: func(s *Settings, v string) { s.StateDir = v }},
	{Variable: "GARM_START_TIMEOUT", kind: span, Default: "5m", Use: useOwn + " " + CmdInit,
		Help:  "from garm's start to initialised; 0: never give up",
		store: func(s *Settings, v string) { s.StartTimeout = duration(v) }},
	{Variable: "GARM_STOP_TIMEOUT", kind: span, Default: "130s", Use: useOwn,
		Help:  "from the first stop signal to SIGKILL (garm may need 60 s and more); 0: never",
		store: func(s *Settings, v string) { s.StopTimeout = duration(v) }},
	{Variable: "GARM_WATCH_INTERVAL", kind: span, Default: "30s", Use: useOwn + " " + CmdWatch,
		Help:  "how often to look again; 0: never",
		store: func(s *Settings, v string) { s.WatchInterval = duration(v) }},
	{Variable: "GARM_API_TIMEOUT", kind: span, Default: "10m", Use: useOwn,
		Help:  "no answer at all for this long while watching: stop garm, so that it is started again; 0: never",
		store: func(s *Settings, v string) { s.APITimeout = duration(v) }},
	{Variable: "GARM_CLI_PROFILE", kind: toggle, Default: "true", Use: useOwn,
		Help:  "keep a garm-cli profile under HOME, where garm-cli and a writable HOME exist",
		store: func(s *Settings, v string) { s.CLIProfile = isTrue(v) }},
	{Variable: "GARM_PROVISION", kind: path, Shown: "provision.d beside GARM_CONFIG where it exists, else none", Use: useInit + " " + CmdPlan + " " + CmdApply,
		Help:  "a provision file or a directory of *.toml: what the server is to hold",
		store: func(s *Settings, v string) { s.Provision = v }},
	{Variable: "GARM_PROVISION_INTERVAL", kind: span, Default: "5m", Use: useOwn + " " + CmdWatch,
		Help:  "how often the server is compared with what is declared; 0: only at start and when files change",
		store: func(s *Settings, v string) { s.ProvisionInterval = duration(v) }},
	{Variable: "GARM_PROVISION_DRIFT", Default: DriftReport, Use: useOwn + " " + CmdWatch,
		Help:  "report: what was changed by hand is said, and comes back at the next start; heal: it is set again at each comparison",
		store: func(s *Settings, v string) { s.ProvisionDrift = v }},
	{Variable: "GARM_PROVISION_PRUNE", kind: toggle, Default: "false", Use: useInit + " " + CmdPlan + " " + CmdApply,
		Help:  "true: what is owned and no longer declared is deleted",
		store: func(s *Settings, v string) { s.ProvisionPrune = isTrue(v) }},
	{Variable: "GARM_UMASK", kind: octal, Default: "0077", Use: useOwn,
		Help:  "for garm, which would create its database world-readable",
		store: func(s *Settings, v string) { s.Umask = umask(v) }},
	{Variable: "GARM_LOG_LEVEL", Shown: "as garm's [logging]", Use: useAll,
		Help:  "debug, info, warn or error: our own lines, on stderr",
		store: func(s *Settings, v string) { s.LogLevel = v }},
	{Variable: "GARM_LOG_FORMAT", Shown: "as garm's [logging]", Use: useAll,
		Help:  "text or json",
		store: func(s *Settings, v string) { s.LogFormat = v }},
}
