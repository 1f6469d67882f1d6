package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/internal/testgarm"
)

const patience = 30 * time.Second

// run is the built binary in front of a garm.
type run struct {
	*testgarm.Proc
	t      *testing.T
	dir    string
	config string
}

// start runs the binary on a config in dir, which is made when it is not there. The canary is the password unless env
// says otherwise.
func start(t *testing.T, dir string, args []string, env ...string) *run {
	t.Helper()
	r := &run{t: t, dir: dir, config: filepath.Join(dir, "config.toml")}
	if _, err := os.Stat(r.config); err != nil {
		testgarm.Config(t, dir)
	}
	all := append([]string{
		"GARM_CONFIG=" + r.config, "GARM_BINARY=" + testgarm.Garm(t), "HOME=" + t.TempDir(),
		// What would print requests, or send them elsewhere.
		"DEBUG=1", "SWAGGER_DEBUG=1", "GODEBUG=http2debug=2", "HTTP_PROXY=http://127.0.0.1:1", "http_proxy=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1",
		// What Kubernetes injects for services named garm and garm-server.
		"GARM_PORT=tcp://10.0.0.1:9997", "GARM_SERVICE_HOST=10.0.0.1", "GARM_SERVER_PORT=tcp://10.0.0.1:9997",
	}, env...)
	if !strings.Contains(strings.Join(env, "\n"), "GARM_PASSWORD") {
		all = append(all, "GARM_PASSWORD="+testgarm.Canary)
	}
	r.Proc = testgarm.Start(t, testgarm.Entrypoint(t), args, all)
	testgarm.WatchCanary(t, r.Proc)
	t.Cleanup(func() { testgarm.NoCanary(t, []*testgarm.Proc{r.Proc}) })
	return r
}

// ready waits for the line that says so.
func (r *run) ready() { r.WaitFor("msg=ready", patience) }

// quickStop is what an idle garm needs at most to stop on a busy machine. Stuck, it would take 60 s.
const quickStop = 10 * time.Second

// stop ends it, and wants garm's own code and no delay.
func (r *run) stop() {
	r.t.Helper()
	begin := time.Now()
	r.Signal(syscall.SIGTERM)
	if code := r.Wait(patience); code != 0 {
		r.t.Errorf("exit code %d, want garm's 0", code)
	}
	if took := r.EndedAt().Sub(begin); took > quickStop {
		r.t.Errorf("took %v to stop", took)
	}
}

// proven logs in as admin with the password and returns the controller.
func (r *run) proven(password string) testgarm.Controller {
	r.t.Helper()
	api := testgarm.API(r.t, testgarm.BaseURL(r.t, r.config))
	token, status := api.Login("admin", password)
	if status != 200 {
		r.t.Fatalf("login answers %d", status)
	}
	controller, status := api.Controller(token)
	if status != 200 {
		r.t.Fatalf("controller answers %d", status)
	}
	return controller
}

func TestRunInitialises(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, nil, "GARM_BASE_URL=https://garm.example.com//")
	r.ready()
	first := r.proven(testgarm.Canary)
	if first.MetadataURL != "https://garm.example.com/api/v1/metadata" || first.AgentURL != "https://garm.example.com/agent" {
		t.Errorf("controller %+v", first)
	}
	for line, times := range map[string]int{"starting garm": 1, "garm's API is up": 2, "admin created": 1, "controller URLs set": 1, "first boot": 2} {
		if strings.Count(r.Stderr(), line) != times {
			t.Errorf("not %d times: %q", times, line)
		}
	}
	r.Signal(syscall.SIGHUP)
	r.stop()
	if want := `msg="stopping garm" program=garm-entrypoint signal=SIGTERM`; strings.Count(r.Stderr(), want) != 1 {
		t.Errorf("not exactly one line %q", want)
	}
	// Again: everything is as it was, and nothing is changed.
	r = start(t, dir, nil, "GARM_BASE_URL=https://garm.example.com")
	r.ready()
	if second := r.proven(testgarm.Canary); !reflect.DeepEqual(second, first) {
		t.Errorf("controller %+v after the restart, was %+v", second, first)
	}
	if strings.Contains(r.Stderr(), "controller URLs set") || !strings.Contains(r.Stderr(), "already there") {
		t.Error("the restart changed something")
	}
	r.stop()
}

func TestRunGenerates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	// Nothing but a directory: config and password are generated. The port is the default one, which may be in use
	// here: so it is changed in a first step that only generates.
	config := filepath.Join(dir, "config.toml")
	gen := testgarm.Start(t, testgarm.Entrypoint(t), []string{"run"},
		[]string{"GARM_CONFIG=" + config, "GARM_BINARY=/bin/true"})
	if code := gen.Wait(patience); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`(?m)^port = .*$`).ReplaceAll(text, []byte("port = "+itoa(testgarm.FreePort(t))))
	own = regexp.MustCompile(`(?m)^bind = .*$`).ReplaceAll(own, []byte(`bind = "127.0.0.1"`))
	if err := os.WriteFile(config, own, 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		r := start(t, dir, nil, "GARM_PASSWORD_FILE=")
		r.ready()
		path := filepath.Join(dir, "admin-password")
		if !strings.Contains(r.Stderr(), "password_file="+path) {
			t.Errorf("start %d does not name the password's file", n)
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		password := strings.TrimSuffix(string(kept), "\n")
		if strings.Contains(r.Output(), password) {
			t.Error("the generated password is in the log")
		}
		r.proven(password)
		for _, file := range []string{path, config, filepath.Join(dir, "garm.db")} {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, want mode 0600 (%v)", file, info.Mode(), err)
			}
		}
		r.stop()
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestRunGarmCLI(t *testing.T) {
	t.Parallel()
	home, cli := t.TempDir(), testgarm.GarmCLI(t)
	r := start(t, t.TempDir(), nil, "HOME="+home, "PATH="+filepath.Dir(cli)+":/bin:/usr/bin", "GARM_BASE_URL=http://garm.example.com")
	r.ready()
	show := testgarm.Start(t, cli, []string{"controller", "show"}, []string{"HOME=" + home})
	if code := show.Wait(patience); code != 0 || !strings.Contains(show.Stdout(), "http://garm.example.com/api/v1/metadata") {
		t.Errorf("garm-cli controller show: %d\n%s", code, show.Output())
	}
	profile := filepath.Join(home, ".local/share/garm-cli/config.toml")
	if info, err := os.Stat(profile); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("profile: %v %v", info, err)
	}
	// By hand, as a user does, into a profile of one's own.
	other := t.TempDir()
	login := testgarm.Start(t, cli, []string{"profile", "add", "--name", "x", "--url", testgarm.BaseURL(t, r.config),
		"--username", "admin", "--password", testgarm.Canary}, []string{"HOME=" + other})
	if code := login.Wait(patience); code != 0 {
		t.Errorf("garm-cli profile add: %d\n%s", code, login.Output())
	}
	// A profile that is not ours is left alone.
	before, _ := os.ReadFile(filepath.Join(other, ".local/share/garm-cli/config.toml"))
	r.stop()
	r = start(t, r.dir, nil, "HOME="+other, "PATH="+filepath.Dir(cli)+":/bin:/usr/bin")
	r.ready()
	if after, _ := os.ReadFile(filepath.Join(other, ".local/share/garm-cli/config.toml")); string(after) != string(before) {
		t.Error("a profile that is not ours was changed")
	}
	r.stop()
}

func TestRunBinds(t *testing.T) {
	for _, bind := range []string{"0.0.0.0", "127.0.0.5", "::1", "::", "::0"} {
		t.Run(bind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Bind = bind })
			r := start(t, dir, nil)
			r.ready()
			health := testgarm.Start(t, testgarm.Entrypoint(t), []string{"healthcheck"}, []string{"GARM_CONFIG=" + r.config, "HTTP_PROXY=http://127.0.0.1:1"})
			if code := health.Wait(patience); code != 0 {
				t.Errorf("healthcheck: %d %s", code, health.Output())
			}
			r.stop()
		})
	}
}

// Every printable ASCII character and UTF-8, through variable and file.
func TestRunPasswordsSurvive(t *testing.T) {
	var ascii strings.Builder
	for c := ' '; c <= '~'; c++ {
		ascii.WriteRune(c)
	}
	all := ascii.String()
	for n, c := range []struct{ password, end string }{
		{all[:48], ""}, {all[48:], "\n"}, {"pässwörter-管理-🦊-kX9#mQ2$", "\r\n"}, {` leading 'n "trailing" $HOME %s \n `, "\n"},
	} {
		for _, viaFile := range []bool{false, true} {
			t.Run(itoa(n), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				env := "GARM_PASSWORD=" + c.password
				if viaFile {
					file := filepath.Join(t.TempDir(), "secret")
					if err := os.WriteFile(file, []byte(c.password+c.end), 0o600); err != nil {
						t.Fatal(err)
					}
					env = "GARM_PASSWORD_FILE=" + file
				}
				r := start(t, dir, nil, env)
				r.ready()
				r.proven(c.password)
				r.stop()
			})
		}
	}
}

// A server that was initialised before is never stopped because our credentials do not fit.
func TestRunMismatch(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), nil)
	r.ready()
	r.stop()
	for _, env := range []string{"GARM_PASSWORD=another-kX9#mQ2$", "GARM_PASSWORD_FILE="} {
		r = start(t, r.dir, nil, env, "GARM_WATCH_INTERVAL=20ms")
		r.WaitFor("level=WARN.*not initialised as configured", patience)
		r.proven(testgarm.Canary)
		testgarm.Eventually(t, patience, "watching goes on", func() bool {
			return strings.Count(r.Stdout(), "/api/v1/first-run") > 5
		})
		if strings.Count(r.Stderr(), "level=WARN") != 1 || !strings.Contains(r.Stderr(), "cure=") {
			t.Error("not one WARN with the cure")
		}
		if _, err := os.Stat(filepath.Join(r.dir, "admin-password")); err == nil {
			t.Error("a password is kept that never was in force")
		}
		r.stop()
	}
}

func TestRunWeakPassword(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), nil, "GARM_PASSWORD=Passw0rd!")
	if code := r.Wait(patience); code != exitConfig {
		t.Errorf("exit code %d, want %d", code, exitConfig)
	}
	if !strings.Contains(r.Stderr(), "password is too weak") || !strings.Contains(r.Stderr(), "garm has stopped") || strings.Contains(r.Output(), "Passw0rd!") {
		t.Error("garm's reason is missing, garm was not stopped, or the value is shown")
	}
}

// garm's end is ours, always; so is what keeps it from starting.
func TestRunExitCodes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		code int
		line string
	}{
		"exit 3":         {[]string{"FAKE_GARM=exit 3"}, 3, `status="exit status 3"`},
		"exit 0":         {[]string{"FAKE_GARM=exit 0"}, 0, `status="exit status 0"`},
		"killed":         {[]string{"FAKE_GARM=kill 9"}, 137, "status=SIGKILL"},
		"no listener":    {[]string{"FAKE_GARM=silent", "GARM_START_TIMEOUT=300ms"}, exitUnavailable, "the API did not answer"},
		"taken, open":    {[]string{"FAKE_GARM=taken", "GARM_FIRST_BOOT=open"}, exitTakeover, "forensics"},
		"takeover":       {[]string{"FAKE_GARM=taken"}, exitTakeover, "forensics"},
		"refused":        {[]string{"FAKE_GARM=refuse"}, exitSoftware, "there is no first run here"},
		"silence":        {[]string{"FAKE_GARM=hang", "GARM_FIRST_BOOT=open", "GARM_WATCH_INTERVAL=10ms", "GARM_API_TIMEOUT=50ms"}, exitUnavailable, "so that it is started again"},
		"stop timeout":   {[]string{"FAKE_GARM=stubborn", "GARM_FIRST_BOOT=open", "GARM_STOP_TIMEOUT=200ms"}, 137, "after the stop timeout"},
		"not found":      {[]string{"GARM_BINARY=no-such-garm"}, 127, "no-such-garm"},
		"not executable": {[]string{"GARM_BINARY=" + plain}, 126, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, t.TempDir(), nil, append([]string{"GARM_BINARY=" + self}, c.env...)...)
			if name == "stop timeout" {
				r.ready()
				r.Signal(syscall.SIGTERM)
			}
			if code := r.Wait(patience); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if !strings.Contains(r.Stderr(), c.line) {
				t.Errorf("no line with %q", c.line)
			}
		})
	}
}

// Whoever holds garm's port gets no byte, neither on this host nor, where the bind address is not ours, on another one.
func TestRunSendsNothingToAStranger(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{settings.FirstBootOpen, settings.FirstBootGuarded} {
		dir := t.TempDir()
		config := testgarm.Config(t, dir)
		l, err := net.Listen("tcp", strings.TrimPrefix(testgarm.BaseURL(t, config), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		stranger := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s: the stranger got %s", mode, r.URL) }))
		_ = stranger.Listener.Close()
		stranger.Listener = l
		stranger.Start()
		r := start(t, dir, nil, "GARM_FIRST_BOOT="+mode)
		if code := r.Wait(patience); code != 1 {
			t.Errorf("%s: ended with %d, want garm's own 1: its port is taken", mode, code)
		}
		stranger.Close()
	}
}

// What is wrong is said at once, before garm starts, and changes nothing.
func TestRunRefusesBadInput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	testgarm.Config(t, data, func(s *testgarm.Settings) { s.Bind = "localhost" })
	r := start(t, data, []string{"run", "--umask", "999", "--cli-profile=perhaps", "--stop-timeout", "-1s"},
		"GARM_USERNAME=garm-admin", "GARM_USERNAME_FILE=/dev/null", "GARM_EMAIL=a@x_y.z", "GARM_BASE_URL=garm.example.com",
		"GARM_PASSWORD_FILE="+empty, "GARM_CALLBACK_URL_FILE="+filepath.Join(dir, "missing"), "GARM_CA_BUNDLE="+empty, "GARM_LOG_LEVEL=loud")
	if code := r.Wait(patience); code != exitConfig {
		t.Errorf("exit code %d, want %d", code, exitConfig)
	}
	for _, part := range []string{"--umask", "--cli-profile", "--stop-timeout", "GARM_USERNAME and GARM_USERNAME_FILE", "a@x_y.z", "GARM_BASE_URL",
		"GARM_PASSWORD_FILE", "GARM_CALLBACK_URL_FILE", "GARM_CA_BUNDLE", "GARM_LOG_LEVEL", "apiserver.bind"} {
		if strings.Count(r.Stderr(), part) != 1 {
			t.Errorf("not exactly one fault about %s", part)
		}
	}
	if strings.Contains(r.Output(), "starting garm") {
		t.Error("garm was started")
	}
	if entries, _ := os.ReadDir(data); len(entries) != 1 {
		t.Errorf("something was written: %v", entries)
	}
}

func TestExecPassesThrough(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
	}{
		"word":      {[]string{"sh", "-c", "umask; echo $GARM_PASSWORD; exit 5"}, 5, "0022\nvisible\n"},
		"exec":      {[]string{"exec", "--", "sh", "-c", "kill -9 $$"}, 137, ""},
		"exec word": {[]string{"exec", "version"}, 127, ""},
		"version":   {[]string{"version"}, 0, "garm-entrypoint devel\n"},
		"usage":     {[]string{"run", "surplus"}, exitUsage, ""},
		"flag":      {[]string{"run", "--no-such-flag"}, exitUsage, ""},
		"exec none": {[]string{"exec"}, exitUsage, ""},
	} {
		p := testgarm.Start(t, testgarm.Entrypoint(t), c.args, []string{"GARM_PASSWORD=visible"})
		if code := p.Wait(patience); code != c.code || p.Stdout() != c.out {
			t.Errorf("%s: code %d, want %d; output %q, want %q (%s)", name, code, c.code, p.Stdout(), c.out, p.Stderr())
		}
	}
}

func TestGarmArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-version"}, {"--version"}, {"garm", "-version"}, {"run", "--", "-version"}} {
		p := testgarm.Start(t, testgarm.Entrypoint(t), args, []string{"GARM_BINARY=" + testgarm.Garm(t)})
		if code := p.Wait(patience); code != 0 || p.Stdout() != testgarm.Version(t)+"\n" {
			t.Errorf("%v: %d %q", args, code, p.Output())
		}
	}
	// As the upstream image is called.
	dir := t.TempDir()
	config := testgarm.Config(t, dir)
	r := start(t, dir, []string{"-config", config}, "GARM_CONFIG=/nowhere")
	r.ready()
	cmdline, err := os.ReadFile("/proc/" + itoa(childOf(t, r.Pid())) + "/cmdline")
	if want := "\x00--config\x00" + config + "\x00"; err != nil || !strings.HasSuffix(string(cmdline), want) {
		t.Errorf("garm is called %q (%v), want it to end in %q", cmdline, err, want)
	}
	r.stop()
}

func TestInitAndWatch(t *testing.T) {
	t.Parallel()
	config := testgarm.Config(t, t.TempDir())
	testgarm.StartGarm(t, config)
	url := testgarm.BaseURL(t, config)
	env := []string{"GARM_SERVER=" + url, "GARM_PASSWORD=" + testgarm.Canary, "GARM_BASE_URL=https://garm.example.com", "GARM_CONFIG=/nowhere"}
	initialise := func(args ...string) string {
		p := testgarm.Start(t, testgarm.Entrypoint(t), append([]string{"init"}, args...), env)
		if code := p.Wait(patience); code != 0 {
			t.Fatalf("init %v: %d", args, code)
		}
		testgarm.NoCanary(t, []*testgarm.Proc{p})
		return p.Stdout()
	}
	if out := initialise("--dry-run"); !strings.Contains(out, "would be created") {
		t.Errorf("dry run: %s", out)
	}
	if out := initialise(); !strings.Contains(out, "admin admin: created") {
		t.Errorf("first: %s", out)
	}
	if out := initialise("--output", "json"); !strings.Contains(out, `"admin_created":false,"changed":[]`) {
		t.Errorf("again: %s", out)
	}
	wrong := testgarm.Start(t, testgarm.Entrypoint(t), []string{"init"}, append(env, "GARM_USERNAME=other"))
	if code := wrong.Wait(patience); code != exitTakeover {
		t.Errorf("other credentials: %d, want %d", code, exitTakeover)
	}
	w := testgarm.Start(t, testgarm.Entrypoint(t), []string{"watch"}, env)
	w.WaitFor("msg=initialised", patience)
	w.Signal(syscall.SIGTERM)
	if code := w.Wait(patience); code != 143 {
		t.Errorf("watch ended with %d, want 143", code)
	}
}
