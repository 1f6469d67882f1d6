package testgarm

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The harness against the real garm: what every end-to-end test rests on.
func TestRealGarm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"http", "https"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := Config(t, dir, func(s *Settings) {
				if name == "https" {
					s.Certificate, s.Key = KeyPair(t, filepath.Join(dir, "tls"))
				}
			})
			p := StartGarm(t, config)
			WatchCanary(t, p, JWTSecret, Passphrase)
			api := API(t, BaseURL(t, config))
			if _, status := api.Login("admin", Canary); status != 409 {
				t.Errorf("login before the first run: status %d, want 409", status)
			}
			if status := api.FirstRun(User{"admin", Canary, "admin@localhost", "Admin"}); status != 200 {
				t.Fatalf("first run: status %d", status)
			}
			token, status := api.Login("admin", Canary)
			if status != 200 {
				t.Fatalf("login: status %d", status)
			}
			if c, status := api.Controller(token); status != 200 || c.ID == "" || c.Version != Version(t) {
				t.Errorf("controller: %+v, status %d, want version %s", c, status, Version(t))
			}
			p.WaitFor("access_log.*first-run", time.Second)
			p.Signal(syscall.SIGTERM)
			if code := p.Wait(5 * time.Second); code != 0 {
				t.Errorf("garm ended with %d", code)
			}
			NoCanary(t, []*Proc{p}, JWTSecret, Passphrase)
			if api.Up() {
				t.Error("something answers when garm has ended")
			}
		})
	}
}

func TestBuilds(t *testing.T) {
	t.Parallel()
	for _, p := range []*Proc{Start(t, Garm(t), []string{"--version"}, nil), Start(t, GarmCLI(t), []string{"version"}, []string{"HOME=" + t.TempDir()})} {
		p.WaitFor(Version(t), 5*time.Second)
		p.Wait(5 * time.Second)
	}
	if code := Start(t, Entrypoint(t), []string{"version"}, nil).Wait(5 * time.Second); code != 0 {
		t.Errorf("our own: ended with %d", code)
	}
}

func TestProc(t *testing.T) {
	t.Setenv("GARM_FOREIGN", "must not be seen")
	p := Start(t, "/bin/sh", []string{"-c", `trap 'echo got it; exit 3' TERM; echo out; echo err >&2; env; echo ready; while :; do sleep 0.01; done`}, []string{"OURS=1"})
	p.WaitFor("^ready", 5*time.Second)
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(5 * time.Second); code != 3 {
		t.Errorf("got %d, want 3", code)
	}
	if out := p.Stdout(); !strings.HasPrefix(out, "out\n") || !strings.Contains(out, "OURS=1\n") ||
		!strings.HasSuffix(out, "got it\n") || strings.Contains(out, "FOREIGN") || p.Stderr() != "err\n" {
		t.Errorf("stdout %q, stderr %q", out, p.Stderr())
	}
	killed := Start(t, "/bin/sh", []string{"-c", `kill -9 $$`}, nil)
	if code := killed.Wait(5 * time.Second); code != 137 {
		t.Errorf("killed: got %d, want 137", code)
	}
}

// A child that keeps the pipes open must not delay the news of the end, and must not survive the test.
func TestProcLeavesNothing(t *testing.T) {
	t.Parallel()
	var pid int
	t.Run("test", func(t *testing.T) {
		p := Start(t, "/bin/sh", []string{"-c", `sleep 1000 & echo "pid $!"; wait`}, nil)
		line := p.WaitFor(`^pid \d+`, 5*time.Second)
		pid, _ = strconv.Atoi(strings.TrimPrefix(line, "pid "))
		p.Signal(syscall.SIGKILL)
		if code := p.Wait(5 * time.Second); code != 137 {
			t.Errorf("got %d, want 137", code)
		}
	})
	Eventually(t, 5*time.Second, "the end of the child", func() bool {
		status, err := os.ReadFile(procFile(pid, "status"))
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

func TestLeak(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		env          []string
		want         bool
	}{
		{"own environment", "sleep 1000 & unset X; wait", []string{"X=" + Canary}, true}, // inherited by sleep
		{"clean child", "unset X; sleep 1000 & wait", []string{"X=" + Canary}, false},
		{"argument of a grandchild", `sh -c "sh -c 'sleep 1000; :' '` + strings.ReplaceAll(Canary, "$", `\$`) + `'; :"; :`, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, "/bin/sh", []string{"-c", c.script}, c.env)
			if strings.Contains(c.script, "canary") { // in our own arguments already
				p = Start(t, "/bin/sh", []string{"-c", `eval "$SCRIPT"`}, []string{"SCRIPT=" + c.script})
			}
			Eventually(t, 5*time.Second, "the last child", func() bool {
				tree := descendants(p.Pid())
				if len(tree) == 0 {
					return false
				}
				comm, _ := os.ReadFile(procFile(tree[len(tree)-1], "comm"))
				return string(comm) == "sleep\n"
			})
			if found := leak(p.Pid(), []string{Canary}); (found != "") != c.want {
				t.Errorf("got %q, want one: %v", found, c.want)
			}
		})
	}
	if !holds([]byte(`{"password":"canary-Zx9!vQ2#Lm8$nB4\u0026wT7"}`), []string{Canary}) {
		t.Error("not found in JSON")
	}
}

func TestFreePort(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for range 200 {
		port := FreePort(t)
		if seen[port] {
			t.Fatalf("port %d came twice", port)
		}
		if port < firstPort || port > lastPort {
			t.Fatalf("port %d is one that others may be given", port)
		}
		seen[port] = true
	}
	for port := range seen { // held, and yet free for who asks for it
		for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
			address := net.JoinHostPort(host, strconv.Itoa(port))
			// A listener that was closed lives on for a moment where another test is just forking: its child has it
			// until it executes.
			Eventually(t, 10*time.Second, "somebody may listen on "+address, func() bool {
				listener, err := net.Listen("tcp4", address)
				if err == nil {
					_ = listener.Close()
				}
				return err == nil
			})
		}
	}
}
