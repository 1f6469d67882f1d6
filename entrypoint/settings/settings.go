package settings

import "time"

// Settings is everything that can be configured, filled and validated in one place. Its meaning for users stands in the
// options table.
type Settings struct {
	Config, Binary string
	Init           bool

	Username, Password, Email, FullName string

	BaseURL                                        string
	MetadataURL, CallbackURL, WebhookURL, AgentURL string
	CABundle                                       string

	Server, ServerCA string

	FirstBoot, StateDir string

	StartTimeout, StopTimeout, WatchInterval, APITimeout time.Duration

	Provision         string
	ProvisionInterval time.Duration
	ProvisionDrift    string
	ProvisionPrune    bool

	CLIProfile          bool
	Umask               int
	LogLevel, LogFormat string
}
