package supervisor

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func itoa(n int) string { return strconv.Itoa(n) }

// setAction sets what happens on a signal in this process: 0, the default, or 1, ignore it.
func setAction(sig syscall.Signal, handler uintptr) {
	action := [4]uintptr{handler}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0); errno != 0 {
		must(errno)
	}
}

// keptVar is the role to go on with.
const keptVar = "SUPERVISOR_TEST_KEPT"

func init() {
	// ignorer ignores what no shell can, and executes its arguments.
	roles["ignorer"] = func() {
		for _, sig := range []syscall.Signal{32, 34} {
			setAction(sig, 1)
		}
		role := os.Getenv(keptVar)
		os.Unsetenv(keptVar)
		if os.Unsetenv(roleVar); role != "" {
			os.Setenv(roleVar, role)
		}
		path, err := exec.LookPath(os.Args[1])
		must(err)
		must(syscall.Exec(path, os.Args[1:], os.Environ()))
	}
}

// The child finds what it would have found without us.
func TestInheritance(t *testing.T) {
	t.Parallel()
	requireTool(t, "prlimit")
	probes := map[string]string{
		"ignored signals": "grep SigIgn /proc/self/status",
		"blocked signals": "grep SigBlk /proc/self/status",
		"pending signals": "grep -E 'SigPnd|ShdPnd' /proc/self/status",
		"capabilities":    "grep -E 'Cap|NoNewPrivs' /proc/self/status",
		"resource limits": "cat /proc/self/limits",
		"OOM score":       "cat /proc/self/oom_score_adj",
		"directory":       "readlink /proc/self/cwd",
		"descriptors":     "ls /proc/self/fd",
		"environment":     "tail -c +1 /proc/self/environ",
		"umask":           "grep Umask /proc/self/status",
		"nice":            "nice",
		"arguments":       "cat /proc/self/cmdline",
	}
	// All that a parent can hand down. prlimit sets soft limits below the hard ones, which Go raises for itself.
	setup := `cd /tmp; umask 0137; ulimit -c 0; echo 123 > /proc/self/oom_score_adj; trap "" HUP INT TSTP TTIN TTOU;
		exec env ` + keptVar + `="$` + roleVar + `" ` + roleVar + `=ignorer ` + selfPath() + ` nice -n 3 prlimit --nofile=100:200 --nproc=5000:6000 --cpu=1000:2000 env ODD="$(printf 'a\nb\200\377=')" = "$@"`
	for name, probe := range probes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.ReplaceAll(probe, "'", ""))
			var want, got []byte
			withBlocked([]syscall.Signal{syscall.SIGUSR1, syscall.SIGALRM, 40}, func() {
				var err error
				if want, err = exec.Command("sh", append([]string{"-c", setup, "sh"}, args...)...).Output(); err != nil {
					t.Fatal(err)
				}
				for _, terminal := range []bool{false, true} {
					cmd := modes[1].prepare(t, plan{Args: args, Terminal: terminal})
					cmd.Args = []string{"sh", "-c", setup, "sh", cmd.Path}
					cmd.Path = "/bin/sh"
					if got, err = cmd.Output(); err != nil {
						t.Fatal(err)
					}
					if text := withoutOwn(got); text != withoutOwn(want) {
						t.Errorf("with us:\n%q\nwithout:\n%q", text, withoutOwn(want))
					}
				}
			})
		})
	}
}

// withoutOwn removes the variables of the test itself, and variables that depend on who runs the shell.
func withoutOwn(output []byte) string {
	var kept []string
	for _, v := range strings.Split(string(output), "\x00") {
		if !strings.HasPrefix(v, roleVar) && !strings.HasPrefix(v, planVar) {
			kept = append(kept, v)
		}
	}
	return strings.Join(kept, "\x00")
}

// The umask is the child's alone, and ours afterwards what it was.
func TestUmask(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{
			Args:  script("umask; while grep -q 0073 /proc/$PPID/status; do :; done"),
			Umask: 0o73,
		})
		s.expect("0073")
		s.expectCode(0) // else ours has stayed as the child's
	})
}

// Environment entries go over as they are: duplicates, without an equals sign, empty.
func TestEnvironmentBytes(t *testing.T) {
	t.Parallel()
	odd := []string{"A=1", "A=2", "noequals", "=hidden", "B=\xff\xfe\n\x01", ""}
	s := modes[1].start(t, plan{Args: []string{"cat", "/proc/self/environ"}, Env: odd})
	var all []string
	for line := range s.lines {
		all = append(all, line)
	}
	s.expectCode(0)
	want := strings.Join([]string{"A=1", "A=2", "noequals", "=hidden", "B=\ufffd\ufffd\n\x01", "", ""}, "\x00")
	if got := strings.Join(all, "\n"); !strings.HasSuffix(got, "\x00"+want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}

// nohup keeps working through us: the child ignores SIGHUP from its first instruction, yet gets those that are sent to
// us if it cares.
func TestNohup(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{Role: "printer", Terminal: true})
		cmd.Args = []string{"sh", "-c", `trap "" HUP INT; exec "$0"`, cmd.Path}
		cmd.Path = "/bin/sh"
		s := launch(t, cmd)
		s.expect("ready")
		s.signal(syscall.SIGHUP)
		s.expect("1")
		s.signal(syscall.SIGINT)
		s.expect("2")
		s.signal(syscall.SIGTERM)
		s.expect("15")
		s.expectCode(0)
	})
}

// Closed standard descriptors: the child gets /dev/null in their place, never a descriptor of ours.
func TestClosedDescriptors(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, test := range []struct{ redirect, probe, want string }{
			{"<&-", "readlink /proc/self/fd/0", "/dev/null"},
			{"2>&-", "readlink /proc/self/fd/2", "/dev/null"},
			{"<&- 2>&-", "readlink /proc/self/fd/0 /proc/self/fd/2", "/dev/null /dev/null"},
			{"3>&1 >&-", "x=$(readlink /proc/$$/fd/1); echo $x >&3", "/dev/null"},
		} {
			cmd := m.prepare(t, plan{Args: script(test.probe)})
			cmd.Args = []string{"sh", "-c", `exec "$0" ` + test.redirect, cmd.Path}
			cmd.Path = "/bin/sh"
			s := launch(t, cmd)
			for _, want := range strings.Fields(test.want) {
				s.expect(want)
			}
			s.expectCode(0)
		}
	})
}
