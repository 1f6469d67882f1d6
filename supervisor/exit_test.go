package supervisor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func init() {
	// every starts one child after the other and checks how each ends: all exit statuses, then all deadly signals.
	roles["every"] = func() {
		s, err := New(Options{})
		must(err)
		for code := range 256 {
			child, err := s.Start(plan{Args: script("exit " + strconv.Itoa(code))}.command())
			must(err)
			if st := child.Status(); st.Code() != code || st.Signal() != 0 || st.CoreDump() {
				fmt.Printf("exit %d: got %v\n", code, st)
			}
		}
		harmless := []syscall.Signal{
			syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGURG, syscall.SIGWINCH,
			// glibc's own. Its posix_spawn leaves them ignored, so under make they are, and we hand that on.
			32, 33,
		}
		for sig := syscall.Signal(1); sig <= 64; sig++ {
			if slices.Contains(harmless, sig) {
				continue
			}
			child, err := s.Start(plan{Args: []string{"sleep", "60"}}.command())
			must(err)
			must(syscall.Kill(child.Pid(), sig))
			if st := child.Status(); st.Code() != 128+int(sig) || st.Signal() != sig || st.TimedOut() {
				fmt.Printf("%v: got %v, code %d\n", sig, st, st.Code())
			}
		}
		s.Close()
		fmt.Println("done")
	}
}

// All 256 exit statuses, and 128+N for all deadly signals, with and without a core dump.
func TestEveryStatus(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, core := range []string{"0", "unlimited"} {
			cmd := m.prepare(t, plan{})
			cmd.Args = []string{"sh", "-c", `ulimit -c ` + core + `; exec "$0"`, cmd.Path}
			cmd.Path = "/bin/sh"
			cmd.Env = append(cmd.Env, roleVar+"=every")
			cmd.Dir = t.TempDir()
			s := launch(t, cmd)
			s.expect("done")
			s.expectCode(0)
		}
	})
}

// The status of the supervisor's process is the child's.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for text, want := range map[string]int{
			"exit 0": 0, "exit 1": 1, "exit 255": 255,
			"kill -KILL $$": 128 + 9, "kill -SEGV $$": 128 + 11, "kill -TERM $$": 128 + 15, "kill -SYS $$": 128 + 31,
		} {
			m.start(t, plan{Args: script(text)}).expectCode(want)
		}
	})
}

func TestStatusText(t *testing.T) {
	t.Parallel()
	for want, status := range map[string]Status{
		"exit status 3":                  {wait: 3 << 8},
		"SIGSEGV (core dumped)":          {wait: 11 | 0x80},
		"SIGKILL":                        {wait: 9},
		"SIGKILL after the stop timeout": {wait: 9, expired: true},
		"exit status 0":                  {expired: true},
		"signal 40":                      {wait: 40},
		"SIGTERM":                        {wait: 15, expired: true},
		"exit status 255":                {wait: 255 << 8},
		"SIGABRT (core dumped)":          {wait: 6 | 0x80},
	} {
		if got := status.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What cannot be executed ends with 126 or 127 and a reason.
func TestCannotExecute(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	self, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	alien := slices.Clone(self)
	alien[18], alien[19] = 0xff, 0x7f // e_machine
	missing := strings.Replace(string(self), "/lib", "/nil", 1)
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	file("in-path-denied", "", 0o600)
	for _, test := range []struct {
		name string
		want int
		text string
	}{
		{dir + "/nothing", 127, "no such file"},
		{dir + "/dangling", 127, "no such file"},
		{file("plain", "x", 0o600) + "/below", 127, "not a directory"},
		{"no-such-program", 127, "not found in PATH"},
		{"in-path-denied", 126, "not executable"},
		{"", 127, "empty"},
		{dir, 126, "is a directory"},
		{file("denied", "#!/bin/sh\n", 0o600), 126, "not executable"},
		{file("bare", "echo hello\n", 0o700), 126, "without a #! line"},
		{file("nothing-in-it", "", 0o700), 126, "empty"},
		{file("binary", "\x00\x01\x02\x03", 0o700), 126, "not a program"},
		{file("alien", string(alien), 0o700), 126, "another architecture"},
		{file("lost", "#!/no/such/interpreter -x\n", 0o700), 126, "interpreter /no/such/interpreter does not exist"},
		{file("dos", "#!/bin/sh\r\necho\r\n", 0o700), 126, "DOS line ends"},
		{file("dynamic", missing, 0o700), 126, "interpreter /nil"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := modes[1].prepare(t, plan{Args: []string{test.name}})
			cmd.Args = nil
			cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")+":"+dir)
			s := launch(t, cmd)
			s.expectCode(test.want)
			if text := s.stderr.String(); !strings.Contains(text, test.text) || !strings.Contains(text, strconv.Quote(filepath.Base(test.name))[1:]) && test.name != "" {
				t.Errorf("stderr %q should name the path and contain %q", text, test.text)
			}
		})
	}
}

func TestLookPath(t *testing.T) {
	t.Parallel()
	good, bad := t.TempDir(), t.TempDir()
	for _, path := range []string{good + "/prog", bad + "/other"} {
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(bad+"/prog", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(bad+"/dir", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, path, want string
		code             int
	}{
		{"prog", good, good + "/prog", 0},
		{"prog", "/nonexistent:" + bad + ":" + good, good + "/prog", 0},
		{"prog", bad, "", 126},
		{"prog", "", "", 127},
		{"sh", "", "/bin/sh", 0},
		{"exit_test.go", "", "", 127}, // the current directory is searched only where PATH says so
		{"exit_test.go", "/nonexistent:", "", 126},
		{"dir", bad, "", 127},
		{good + "/prog", "", good + "/prog", 0},
		{"../../../../../../../../bin/sh", "", "../../../../../../../../bin/sh", 0},
		{bad + "/nothing", good, "", 127},
		{bad + "/prog/below", good, "", 127},
		{bad + "/prog", good, "", 126},
		{bad + "/dir", good, "", 126},
		{"./exit_test.go", "", "", 126},
		{"", good, "", 127},
	} {
		got, err := LookPath(test.name, test.path)
		code := 0
		if err != nil {
			code = err.(*StartError).ExitCode()
		}
		if got != test.want || code != test.code {
			t.Errorf("LookPath(%q, %q) = %q, %v; want %q and code %d", test.name, test.path, got, err, test.want, test.code)
		}
	}
}
