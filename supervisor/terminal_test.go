package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// console is a pseudo-terminal with a process in it.
type console struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	out    *syncBuffer
	seen   int // how much of out has been expected
	ended  chan struct{}
}

// openConsole starts cmd as the leader of a session whose terminal it is.
func openConsole(t *testing.T, cmd *exec.Cmd) *console {
	t.Helper()
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if cmd.SysProcAttr != nil {
		attr.Cloneflags, attr.Unshareflags = cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.Unshareflags
	}
	master, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 24, Cols: 80}, attr)
	if err != nil {
		t.Fatal(err)
	}
	master = pollable(t, master)
	c := &console{t: t, cmd: cmd, master: master, out: &syncBuffer{}, ended: make(chan struct{})}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			_, _ = c.out.Write(buf[:n])
			if err != nil {
				break
			}
		}
		_ = cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-c.ended:
		default:
			for _, pid := range all(cmd.Process.Pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		master.Close()
		<-c.ended
		if t.Failed() {
			t.Logf("the terminal showed: %q", c.out)
		}
	})
	return c
}

// pollable is the same file in a form that Close really closes while somebody reads.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	return os.NewFile(uintptr(fd), "terminal")
}

// shell starts an interactive shell in a terminal, with the function "run" that runs a supervisor with a plan.
func shell(t *testing.T) *console {
	t.Helper()
	requireTool(t, "bash")
	cmd := exec.Command("bash", "--norc", "--noprofile", "-i")
	cmd.Env = append(os.Environ(), "PS1=prompt-$?: ", "PS2=", "HISTFILE=", "TERM=dumb", "LC_ALL=C")
	c := openConsole(t, cmd)
	c.expect("prompt-0: ")
	c.say("bind 'set enable-bracketed-paste off'; stty -echo; run() { " + roleVar + "=supervisor " + planVar + `="$1" ` + selfPath() + "; }")
	c.expect("prompt-0: ")
	return c
}

func (c *console) say(line string) { c.c(line + "\n") }

// c types characters.
func (c *console) c(text string) {
	c.t.Helper()
	if _, err := c.master.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

// expect waits for text in what the terminal shows, beyond what has been expected before.
func (c *console) expect(want string) string {
	c.t.Helper()
	return c.match(regexp.QuoteMeta(want))
}

func (c *console) match(pattern string) string {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	var found string
	deadline := time.Now().Add(patience)
	for found == "" {
		text := c.out.String()[c.seen:]
		if at := re.FindStringIndex(text); at != nil {
			found = text[at[0]:at[1]]
			c.seen += at[1]
		} else if time.Now().After(deadline) {
			c.t.Fatalf("the terminal does not show %q but %q", pattern, text)
		} else {
			unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
	}
	return found
}

// stopped waits until the shell says that its background job is stopped, which it does only before a prompt.
func (c *console) stopped() {
	c.t.Helper()
	eventually(c.t, "the job is stopped", func() bool {
		c.say("")
		unix.Nanosleep(&unix.Timespec{Nsec: 2e7}, nil)
		return strings.Contains(c.rest(), "Stopped")
	})
	c.expect("Stopped")
}

// rest is what the terminal has shown since the last expect.
func (c *console) rest() string { return c.out.String()[c.seen:] }

const (
	ctrlC, ctrlZ, ctrlD = "\x03", "\x1a", "\x04"
)

// plan of the supervisor as an argument of the shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func catPlan(terminal bool) string {
	return quoted(`{"Args":["sh","-c","echo pid-$$-; exec cat"],"Terminal":` + strconv.FormatBool(terminal) + `}`)
}

// Under a shell: the child has the foreground; Ctrl-Z, fg, bg, Ctrl-C and the end work as they do without us.
func TestJobControlUnderAShell(t *testing.T) {
	t.Parallel()
	c := shell(t)
	c.say("run " + catPlan(true))
	c.match(`pid-\d+-`)
	c.say("one")
	c.expect("one")
	for range 3 {
		c.c(ctrlZ)
		c.expect("Stopped")
		c.expect("prompt-147: ")
		c.say("echo the shell $((40+2)) is back")
		c.expect("the shell 42 is back")
		c.expect("prompt-0: ")
		c.say("fg")
		c.expect("supervisor.test")
		c.say("two")
		c.expect("two")
	}
	c.c(ctrlZ)
	c.expect("Stopped")
	c.say("bg")
	c.expect("supervisor.test &")
	c.stopped() // by SIGTTIN: in the background it may not read
	c.say("fg")
	c.expect("supervisor.test")
	c.say("three")
	c.expect("three")
	c.c(ctrlD)
	c.expect("prompt-0: ")
	c.say("run " + catPlan(true))
	c.match(`pid-\d+-`)
	c.c(ctrlC)
	c.expect("prompt-130: ")
	c.say("cat")
	c.say("the terminal is the shell's again")
	c.expect("the terminal is the shell's again")
	c.c(ctrlD)
	c.expect("prompt-0: ")
}

// Started in the background, the child is in the background, until fg.
func TestStartInTheBackground(t *testing.T) {
	t.Parallel()
	c := shell(t)
	c.say("run " + catPlan(true) + " &")
	c.match(`pid-\d+-`)
	c.stopped()
	c.say("fg")
	c.expect("run ")
	c.say("one")
	c.expect("one")
	c.c(ctrlD)
	c.expect("prompt-0: ")
}

// A whole pipeline stops and continues with the child.
func TestPipelineUnderAShell(t *testing.T) {
	t.Parallel()
	c := shell(t)
	c.say("run " + catPlan(true) + " | sed -u s/^/piped-/")
	c.expect("piped-pid-")
	c.c(ctrlZ)
	c.expect("Stopped")
	c.match("prompt-14[78]: ")
	c.say("fg")
	c.say("one")
	c.expect("piped-one")
	c.c(ctrlD)
	c.expect("prompt-0: ")
}

// A server in its own session: Ctrl-C reaches it once, through us; Ctrl-Z stops it and us, fg continues both.
func TestServerUnderAShell(t *testing.T) {
	t.Parallel()
	c := shell(t)
	out := filepath.Join(t.TempDir(), "out")
	lines := func() string { text, _ := os.ReadFile(out); return strings.Join(strings.Fields(string(text)), " ") }
	// The server has a provider in its group, which must get nothing.
	c.say("run " + quoted(`{"Args":["sh","-c","PRINTER_MARK=provider- `+selfPath()+` & exec `+selfPath()+`"],"Env":["`+
		roleVar+`=printer","PRINTER_OUT=`+out+`"]}`))
	eventually(t, "both are there", func() bool { return strings.Count(lines(), "ready") == 2 })
	for range 3 {
		before := lines()
		c.c(ctrlC)
		eventually(t, "SIGINT arrives", func() bool { return lines() == before+" 2" })
	}
	c.c(ctrlZ)
	c.expect("Stopped")
	c.expect("prompt-147: ")
	c.say("fg")
	c.expect("supervisor.test")
	eventually(t, "SIGCONT arrives", func() bool { return strings.HasSuffix(lines(), " 18") })
	c.c(ctrlC)
	eventually(t, "SIGINT arrives", func() bool { return strings.HasSuffix(lines(), " 2 2 2 18 2") })
	if strings.Contains(lines(), "provider-2") {
		t.Errorf("the provider got SIGINT: %s", lines())
	}
	c.say("")
	c.c(ctrlZ)
	c.expect("Stopped")
	c.say("kill %1; fg")
	c.expect("prompt-0: ")
}

// As PID 1 and as a session leader: the child has the foreground and no job control above it.
func TestForegroundWithoutAShell(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		c := openConsole(t, m.prepare(t, plan{Role: "printer", Terminal: true}))
		c.expect("ready")
		c.c(ctrlC)
		c.expect("2\r\n")
		if err := pty.Setsize(c.master, &pty.Winsize{Rows: 10, Cols: 20}); err != nil {
			t.Fatal(err)
		}
		c.expect("28\r\n")
		if err := c.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		c.expect("10\r\n")
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.expect("15\r\n")
		<-c.ended
		if shown := strings.Fields(strings.ReplaceAll(c.out.String(), "^C", "")); strings.Join(shown, " ") != "ready 2 28 10 15" {
			t.Errorf("more than that: %q", shown)
		}

		c = openConsole(t, m.prepare(t, plan{
			Args: script("stty -echo; stty size; stty tostop; echo shown; ps -o tpgid= -p $$ | tr -d ' '; echo $$"), Terminal: true,
		}))
		<-c.ended
		lines := strings.Fields(c.out.String())
		if len(lines) != 5 || lines[0]+lines[1]+lines[2] != "2480shown" || lines[3] != lines[4] {
			t.Errorf("the child should be the foreground group: %q", lines)
		}
	})
}

// Ctrl-Z without anybody above who could continue us: the child stays stopped until SIGCONT, and a stop signal ends it.
func TestCtrlZWithoutAShell(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		c := openConsole(t, m.prepare(t, plan{Args: script("echo ready; exec cat"), Terminal: true}))
		c.expect("ready")
		child := childrenOf(c.cmd.Process.Pid)[0]
		c.c(ctrlZ)
		eventually(t, "the child is stopped", func() bool { return state(child) == 'T' })
		c.expect("send SIGCONT")
		_ = c.cmd.Process.Signal(syscall.SIGCONT)
		eventually(t, "the child continues", func() bool { return state(child) != 'T' })
		c.say("one")
		c.expect("one\r\none")
		c.c(ctrlZ)
		eventually(t, "the child is stopped", func() bool { return state(child) == 'T' })
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		<-c.ended
		if code := c.cmd.ProcessState.ExitCode(); code != 128+15 {
			t.Errorf("exit status %d", code)
		}
	})
}

func init() {
	extras["ticker"] = func() {
		for {
			_, _ = LogWriter(2).Write([]byte("tick\n"))
			unix.Nanosleep(&unix.Timespec{Nsec: 2e7}, nil)
		}
	}
}

// With `stty tostop` a background process may not write. Neither our own lines nor the server's spin or get lost.
func TestTostop(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		for _, terminal := range []bool{true, false} {
			text := "sleep 0.3; echo server-line; sleep 0.3"
			if terminal {
				text = "stty tostop; " + text
			}
			cmd := m.prepare(t, plan{Args: script(text), Terminal: terminal, Extra: "ticker"})
			if !terminal {
				cmd.Args = []string{"sh", "-c", `stty tostop; exec "$0"`, cmd.Path}
				cmd.Path = "/bin/sh"
			}
			c := openConsole(t, cmd)
			c.expect("server-line")
			c.expect("tick")
			<-c.ended
			if used := c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(); used > 400*time.Millisecond {
				t.Errorf("%v of processor time used: it spins", used)
			}
		}
	})
}

// The terminal is hung up. As a job of a shell, and as the leader of the session, we take that for a stop.
func TestHangup(t *testing.T) {
	t.Parallel()
	for _, under := range []string{"shell", "no shell"} {
		t.Run(under, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			p := plan{Role: "printer", Env: []string{"PRINTER_OUT=" + out}}
			var c *console
			if under == "shell" {
				c = shell(t)
				c.say("run " + quoted(`{"Role":"printer","Env":["PRINTER_OUT=`+out+`"]}`))
			} else {
				c = openConsole(t, modes[1].prepare(t, p))
			}
			lines := func() string { text, _ := os.ReadFile(out); return strings.Join(strings.Fields(string(text)), " ") }
			eventually(t, "the server is there", func() bool { return lines() == "ready" })
			c.master.Close()
			eventually(t, "the server gets SIGTERM", func() bool { return strings.Contains(lines(), " 15") })
			if strings.Contains(lines(), " 1 15") {
				t.Logf("SIGHUP came first: %s", lines())
			}
		})
	}
}
