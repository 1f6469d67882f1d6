package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/infile"
	"garm-entrypoint/internal/testgarm"
)

// file writes a file of its own and returns its path.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// read is Read where no fault is expected.
func read(t *testing.T, command string, flags map[string]string, env ...string) Settings {
	t.Helper()
	s, warnings, err := Read(command, flags, env)
	if err != nil {
		t.Fatalf("%v %v: %v", flags, env, err)
	}
	if len(warnings) > 0 {
		t.Errorf("%v %v: warnings %q", flags, env, warnings)
	}
	return s
}

func TestSettingsDefaults(t *testing.T) {
	t.Parallel()
	got := read(t, CmdRun, nil)
	want := Settings{
		Config: "/etc/garm/config.toml", Binary: "garm", Init: true,
		Username: "admin", Email: "admin@localhost", FullName: "Admin",
		StartTimeout: 5 * time.Minute, StopTimeout: 130 * time.Second,
		WatchInterval: 30 * time.Second, APITimeout: 10 * time.Minute,
		CLIProfile: true, Umask: 0o077, ProvisionInterval: 5 * time.Minute, ProvisionDrift: DriftReport,
	}
	want.FirstBoot = got.FirstBoot // TestSettingsFirstBoot
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Flag over variable over default.
func TestSettingsPrecedence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags map[string]string
		env   []string
		want  string
	}{
		"default":              {nil, nil, "admin"},
		"variable":             {nil, []string{"GARM_USERNAME=v"}, "v"},
		"flag":                 {map[string]string{"username": "f"}, nil, "f"},
		"flag over variable":   {map[string]string{"username": "f"}, []string{"GARM_USERNAME=v"}, "f"},
		"file":                 {nil, []string{"GARM_USERNAME_FILE=" + file(t, "file\n")}, "file"},
		"flag over file":       {map[string]string{"username": "f"}, []string{"GARM_USERNAME_FILE=/nowhere"}, "f"},
		"empty variable":       {nil, []string{"GARM_USERNAME="}, "admin"},
		"empty file variable":  {nil, []string{"GARM_USERNAME_FILE="}, "admin"},
		"empty beside file":    {nil, []string{"GARM_USERNAME=", "GARM_USERNAME_FILE=" + file(t, "file")}, "file"},
		"first of two entries": {nil, []string{"GARM_USERNAME=a", "GARM_USERNAME=b"}, "a"},
		"longer name":          {nil, []string{"GARM_USERNAMES=a", "XGARM_USERNAME=b", "garm_username=c"}, "admin"},
	} {
		if got := read(t, CmdRun, c.flags, c.env...).Username; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Each row of the table reaches its own place in the settings.
func TestSettingsStore(t *testing.T) {
	t.Parallel()
	values := map[string]string{
		"GARM_CONFIG": "/c", "GARM_BINARY": "/b", "GARM_INIT": "false", "GARM_USERNAME": "u", "GARM_PASSWORD": "p",
		"GARM_EMAIL": "e@localhost", "GARM_FULL_NAME": "n", "GARM_BASE_URL": "http://base", "GARM_METADATA_URL": "http://m",
		"GARM_CALLBACK_URL": "http://c", "GARM_WEBHOOK_URL": "http://w", "GARM_AGENT_URL": "http://a",
		"GARM_SERVER": "http://s", "GARM_SERVER_CA": "/ca", "GARM_FIRST_BOOT": "open", "GARM_STATE_DIR": "/s",
		"GARM_START_TIMEOUT": "1s", "GARM_STOP_TIMEOUT": "2s", "GARM_WATCH_INTERVAL": "3s", "GARM_API_TIMEOUT": "4s",
		"GARM_CLI_PROFILE": "false", "GARM_UMASK": "0027", "GARM_LOG_LEVEL": "debug", "GARM_LOG_FORMAT": "json",
		"GARM_PROVISION": "/p", "GARM_PROVISION_INTERVAL": "6s", "GARM_PROVISION_DRIFT": "heal", "GARM_PROVISION_PRUNE": "true",
	}
	want := Settings{
		Config: "/c", Binary: "/b", Username: "u", Password: "p", Email: "e@localhost", FullName: "n", BaseURL: "http://base",
		MetadataURL: "http://m", CallbackURL: "http://c", WebhookURL: "http://w", AgentURL: "http://a", StateDir: "/s",
		StartTimeout: time.Second, StopTimeout: 2 * time.Second, WatchInterval: 3 * time.Second, APITimeout: 4 * time.Second,
		Umask: 0o027, LogLevel: "debug", LogFormat: "json",
		Provision: "/p", ProvisionInterval: 6 * time.Second, ProvisionDrift: DriftHeal, ProvisionPrune: true,
	}
	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	got := read(t, CmdRun, nil, env...)
	want.FirstBoot = got.FirstBoot
	if got != want {
		t.Errorf("run: %+v, want %+v", got, want)
	}
	remote := read(t, CmdInit, nil, env...)
	if remote.Server != "http://s" || remote.ServerCA != "/ca" || remote.Binary != "" || remote.Umask != 0 {
		t.Errorf("init: %+v", remote)
	}
	for _, o := range Options {
		if _, ok := values[o.Variable]; !ok && o.Variable != "GARM_CA_BUNDLE" {
			t.Errorf("%s is not tried here", o.Variable)
		}
	}
}

// A secret's file holds the value and at most one line end.
func TestSettingsPasswordFile(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"pw": "pw", "pw\n": "pw", "pw\r\n": "pw", "pw\n\n": "pw\n", "pw\r": "pw", " pw ": " pw ", "a\nb\n": "a\nb",
	} {
		s, warnings, err := Read(CmdRun, nil, Environment{"GARM_PASSWORD_FILE=" + file(t, content)})
		if err != nil || s.Password != want {
			t.Errorf("%q becomes %q, want %q: %v", content, s.Password, want, err)
		}
		if odd := strings.TrimSpace(want) != want; odd != (len(warnings) == 1) { // TestOddEnds has what is said
			t.Errorf("%q: warnings %q", content, warnings)
		}
	}
	for content, fault := range map[string]string{
		"": "it is empty", "\n": "it is empty", "\r\n": "it is empty",
		strings.Repeat("x", infile.MaxValue+1): "longer than 65536 bytes",
	} {
		_, _, err := Read(CmdRun, nil, Environment{"GARM_PASSWORD_FILE=" + file(t, content)})
		if err == nil || !strings.Contains(err.Error(), fault) || !strings.Contains(err.Error(), "GARM_PASSWORD_FILE") {
			t.Errorf("%.5q: %v, want %q", content, err, fault)
		}
	}
}

func TestSettingsFaults(t *testing.T) {
	t.Parallel()
	certless := file(t, "no certificate")
	for name, c := range map[string]struct {
		command string
		flags   map[string]string
		env     []string
		want    string
	}{
		"empty password":     {env: []string{"GARM_PASSWORD="}, want: "cannot use GARM_PASSWORD: it is empty; unset it to have one generated"},
		"empty beside file":  {env: []string{"GARM_PASSWORD=", "GARM_PASSWORD_FILE=" + file(t, "pw")}, want: "GARM_PASSWORD: it is empty"},
		"both":               {env: []string{"GARM_FULL_NAME=a", "GARM_FULL_NAME_FILE=" + file(t, "a")}, want: "cannot use GARM_FULL_NAME and GARM_FULL_NAME_FILE together"},
		"both passwords":     {env: []string{"GARM_PASSWORD=a", "GARM_PASSWORD_FILE=" + file(t, "b")}, want: "cannot use GARM_PASSWORD and GARM_PASSWORD_FILE together"},
		"missing file":       {env: []string{"GARM_FULL_NAME_FILE=/nowhere/x"}, want: "cannot read GARM_FULL_NAME_FILE /nowhere/x: no such file or directory"},
		"directory":          {env: []string{"GARM_FULL_NAME_FILE=/"}, want: "cannot read GARM_FULL_NAME_FILE /: is a directory"},
		"empty flag":         {flags: map[string]string{"umask": ""}, want: "cannot use --umask: it is empty"},
		"empty toggle":       {flags: map[string]string{"init": ""}, want: "cannot use --init: it is empty"},
		"unreadable e-mail":  {env: []string{"GARM_EMAIL_FILE=/nowhere/x"}, want: "cannot read GARM_EMAIL_FILE /nowhere/x"},
		"user name twice":    {env: []string{"GARM_USERNAME=a", "GARM_USERNAME_FILE=" + file(t, "b")}, want: "GARM_USERNAME and GARM_USERNAME_FILE together"},
		"URL with password":  {env: []string{"GARM_BASE_URL=https://u:s3cret@host"}, want: "cannot use GARM_BASE_URL: it must not hold a user or password"},
		"odd URL's password": {env: []string{"GARM_BASE_URL=https://u:s3%zzret@host"}, want: "cannot use GARM_BASE_URL: it is not a URL"},
		"FIFO":               {env: []string{"GARM_FULL_NAME_FILE=" + fifo(t)}, want: "it is not a regular file"},
		"endless CA bundle":  {env: []string{"GARM_CA_BUNDLE=/dev/zero"}, want: "cannot read GARM_CA_BUNDLE /dev/zero: it is not a regular file"},
		"bad port":           {env: []string{"GARM_BASE_URL=http://h:99999"}, want: "must have a port from 1 to 65535, or none"},
		"empty port":         {env: []string{"GARM_BASE_URL=http://h:"}, want: "must have a port from 1 to 65535, or none"},
		"trailing blank":     {env: []string{"GARM_BASE_URL=http://h/ "}, want: "must not hold blanks"},
		"empty query":        {env: []string{"GARM_BASE_URL=http://h?"}, want: "must not hold a query"},
		"flag's value":       {flags: map[string]string{"umask": "abc"}, want: `cannot use --umask: "abc" is not an octal number`},
		"variable's value":   {env: []string{"GARM_UMASK=abc"}, want: `cannot use GARM_UMASK: "abc" is not an octal number`},
		"toggle":             {env: []string{"GARM_INIT=yes"}, want: `cannot use GARM_INIT: "yes" is neither true nor false`},
		"duration":           {env: []string{"GARM_STOP_TIMEOUT=30"}, want: `"30" is not a duration such as 30s or 5m`},
		"log level":          {env: []string{"GARM_LOG_LEVEL=loud"}, want: `cannot use GARM_LOG_LEVEL: "loud" is none of debug, info, warn, error`},
		"log format":         {env: []string{"GARM_LOG_FORMAT=xml"}, want: `cannot use GARM_LOG_FORMAT: "xml" is none of text, json`},
		"user name":          {env: []string{"GARM_USERNAME=garm-admin"}, want: `cannot use the user name "garm-admin": garm takes letters and digits only`},
		"long user name":     {env: []string{"GARM_USERNAME=" + strings.Repeat("a", 65)}, want: "it has 65 bytes, garm takes at most 64"},
		"e-mail":             {env: []string{"GARM_EMAIL=a@x_y.z"}, want: `cannot use the e-mail address "a@x_y.z"`},
		"long password":      {env: []string{"GARM_PASSWORD=" + strings.Repeat("x", 73)}, want: "cannot use the password: it has 73 bytes, garm takes at most 72"},
		"password not UTF-8": {env: []string{"GARM_PASSWORD=\xff"}, want: "cannot use the password: it is not valid UTF-8"},
		"base URL":           {env: []string{"GARM_BASE_URL=garm.example.com"}, want: "cannot use GARM_BASE_URL: "},
		"a URL":              {env: []string{"GARM_WEBHOOK_URL=ftp://x"}, want: "cannot use the webhook URL: "},
		"CA bundle missing":  {env: []string{"GARM_CA_BUNDLE=/nowhere"}, want: "cannot read GARM_CA_BUNDLE /nowhere: no such file or directory"},
		"CA bundle empty":    {env: []string{"GARM_CA_BUNDLE=" + file(t, "")}, want: "it is empty"},
		"CA bundle of none":  {env: []string{"GARM_CA_BUNDLE=" + certless}, want: "it holds no PEM certificate"},
		"server":             {command: CmdInit, env: []string{"GARM_SERVER=tcp://10.0.0.1:9997"}, want: "cannot use GARM_SERVER: "},
		"health's URL":       {command: CmdHealthcheck, env: []string{"GARM_METADATA_URL=x"}, want: "cannot use the metadata URL: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := c.command
			if command == "" {
				command = CmdRun
			}
			_, _, err := Read(command, c.flags, c.env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("more than one fault: %v", err)
			}
		})
	}
}

func TestSettingsUnreadableFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(testgarm.PublicDir(t), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 { // the owner is kept out by the mode alone
		if err := os.Chmod(secret, 0); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	testgarm.AsUser(t, func() { _, _, err = Read(CmdRun, nil, Environment{"GARM_PASSWORD_FILE=" + secret}) })
	if err == nil || !strings.Contains(err.Error(), "cannot read GARM_PASSWORD_FILE "+secret+": permission denied") {
		t.Errorf("%v", err)
	}
}

// All faults are reported at once, each once, and none shows a secret.
func TestSettingsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(testgarm.Canary, 4)
	_, _, err := Read(CmdRun, map[string]string{"umask": "999", "stop-timeout": "-1s"}, Environment{
		"GARM_INIT=perhaps", "GARM_USERNAME=a.b", "GARM_EMAIL=none", "GARM_PASSWORD=" + long, "GARM_FULL_NAME_FILE=/nowhere",
		"GARM_BASE_URL=/", "GARM_AGENT_URL=wss://a", "GARM_CA_BUNDLE=/nowhere", "GARM_LOG_LEVEL=loud", "GARM_LOG_FORMAT=xml",
	})
	faults := faultsOf(err)
	for _, want := range []string{"--umask", "--stop-timeout", "GARM_INIT", `"a.b"`, `"none"`, "the password", "GARM_FULL_NAME_FILE",
		"GARM_BASE_URL", "GARM_CA_BUNDLE", "GARM_LOG_LEVEL", "GARM_LOG_FORMAT"} {
		n := 0
		for _, f := range faults {
			if strings.Contains(f.Error(), want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d faults about %s, want 1", n, want)
		}
	}
	testNoCanary(t, err)
	both := []string{"GARM_PASSWORD=" + testgarm.Canary, "GARM_PASSWORD_FILE=" + file(t, testgarm.Canary)}
	_, _, err = Read(CmdRun, nil, both)
	testNoCanary(t, err)
	_, _, err = Read(CmdRun, nil, Environment{"GARM_PASSWORD_FILE=" + file(t, strings.Repeat(testgarm.Canary, 4000))})
	testNoCanary(t, err)
	_, _, err = Read(CmdRun, nil, Environment{"GARM_PASSWORD=" + testgarm.Canary + "\xff"})
	testNoCanary(t, err)
}

func testNoCanary(t *testing.T, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), testgarm.Canary) {
		t.Errorf("no fault, or one that shows the password: %v", err)
	}
}

// Kubernetes injects these for services named garm, garm-server and garm-config: never an error, never used.
func TestSettingsIgnoreServiceLinks(t *testing.T) {
	t.Parallel()
	links := []string{
		"GARM_SERVICE_HOST=10.0.0.1", "GARM_SERVICE_PORT=9997", "GARM_PORT=tcp://10.0.0.1:9997", "GARM_PORT_9997_TCP=tcp://10.0.0.1:9997",
		"GARM_PORT_9997_TCP_PROTO=tcp", "GARM_SERVER_PORT=tcp://10.0.0.1:9997", "GARM_SERVER_SERVICE_HOST=10.0.0.1",
		"GARM_CONFIG_PORT=tcp://10.0.0.1:80", "GARM_CONFIG_SERVICE_HOST=10.0.0.1", "GARM_NO_SUCH_THING=x",
	}
	for _, command := range []string{CmdRun, CmdInit, CmdWatch, CmdHealthcheck, CmdCheck} {
		if with, without := read(t, command, nil, links...), read(t, command, nil); with != without {
			t.Errorf("%s: %+v, want %+v", command, with, without)
		}
	}
}

func TestSettingsWarnOfConfigFile(t *testing.T) {
	t.Parallel()
	s, warnings, err := Read(CmdRun, nil, Environment{"GARM_CONFIG_FILE=/c"})
	if err != nil || s.Config != "/etc/garm/config.toml" {
		t.Errorf("%v, config %s: it must be ignored", err, s.Config)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "GARM_CONFIG_FILE") || !strings.Contains(warnings[0], "is GARM_CONFIG") {
		t.Errorf("warnings %q, want one that names GARM_CONFIG", warnings)
	}
}

// The health check reads what it needs, and stumbles over nothing else.
func TestSettingsHealthcheckIsUndemanding(t *testing.T) {
	t.Parallel()
	got := read(t, CmdHealthcheck, nil, "GARM_PASSWORD=", "GARM_USERNAME=a.b", "GARM_EMAIL_FILE=/nowhere", "GARM_UMASK=x", "GARM_SERVER=x",
		"GARM_LOG_LEVEL=loud", "GARM_CONFIG=/c", "GARM_BASE_URL=http://g")
	if want := (Settings{Config: "/c", BaseURL: "http://g"}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSettingsController(t *testing.T) {
	t.Parallel()
	derived := initializer.Controller{MetadataURL: "https://g/api/v1/metadata", CallbackURL: "https://g/api/v1/callbacks",
		WebhookURL: "https://g/webhooks", AgentURL: "https://g/agent"}
	own := derived
	own.WebhookURL = "https://hooks.example.com/in"
	prefixed := initializer.Controller{MetadataURL: "https://g/garm/api/v1/metadata", CallbackURL: "https://g/garm/api/v1/callbacks",
		WebhookURL: "https://g/garm/webhooks", AgentURL: "https://g/garm/agent"}
	certificate, _ := testgarm.KeyPair(t, filepath.Join(t.TempDir(), "ca"))
	pem, err := os.ReadFile(certificate)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		want initializer.Controller
	}{
		"nothing":        {nil, initializer.Controller{}},
		"base":           {[]string{"GARM_BASE_URL=https://g"}, derived},
		"single slashes": {[]string{"GARM_BASE_URL=https://g//"}, derived},
		"path prefix":    {[]string{"GARM_BASE_URL=https://g/garm/"}, prefixed},
		"one alone":      {[]string{"GARM_AGENT_URL=https://a"}, initializer.Controller{AgentURL: "https://a"}},
		"one over base":  {[]string{"GARM_BASE_URL=https://g", "GARM_WEBHOOK_URL=https://hooks.example.com/in"}, own},
		"kept as it is":  {[]string{"GARM_METADATA_URL=https://m//x/"}, initializer.Controller{MetadataURL: "https://m//x/"}},
		"from a file":    {[]string{"GARM_BASE_URL_FILE=" + file(t, "https://g\n")}, derived},
		"CA bundle":      {[]string{"GARM_CA_BUNDLE=" + certificate}, initializer.Controller{CABundle: pem}},
	} {
		s := read(t, CmdRun, nil, c.env...)
		if got, err := s.Controller(); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
		}
	}
}

func TestEnvironmentWithout(t *testing.T) {
	t.Parallel()
	env := Environment{"A=1", "GARM_PASSWORD=a", "GARM_PASSWORD_FILE=/f", "GARM_PASSWORD=b", "noequals", "=odd", "A=\xff=\n", "XGARM_PASSWORD=x"}
	want := Environment{"A=1", "GARM_PASSWORD_FILE=/f", "noequals", "=odd", "A=\xff=\n", "XGARM_PASSWORD=x"}
	before := append(Environment(nil), env...)
	if got := env.Without("GARM_PASSWORD"); !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !reflect.DeepEqual(env, before) {
		t.Error("the environment it was taken from has changed")
	}
	if value, set := env.Get("A"); value != "1" || !set {
		t.Errorf("A is %q, %t", value, set)
	}
	if _, set := env.Get("GARM"); set {
		t.Error("the beginning of a name is taken for the name")
	}
}

// fifo makes one that nobody writes to.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// faultsOf takes joined errors apart.
func faultsOf(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		all = append(all, faultsOf(e)...)
	}
	return all
}
