package supervisor

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// scriptPlan is a plan for a script in the terminal.
func scriptPlan(text string) string {
	return quoted(`{"Args":["sh","-c",` + strconv.Quote(text) + `],"Terminal":true}`)
}

// background starts a script that the terminal stops and bg continues, as far as it says "ready" again: a job that runs
// in the background.
func (c *console) background(text string) {
	c.t.Helper()
	c.say("run " + scriptPlan(text))
	c.expect("ready")
	c.c(ctrlZ)
	c.expect("prompt-147: ")
	c.say("bg")
	c.expect("supervisor.test &")
	c.expect("prompt-0: ")
}

// toForeground brings the job to the foreground and waits until the shell has given the terminal away.
func (c *console) toForeground() {
	c.t.Helper()
	c.say("fg")
	raw, err := c.master.SyscallConn()
	if err != nil {
		c.t.Fatal(err)
	}
	eventually(c.t, "the job has the foreground", func() (taken bool) {
		_ = raw.Control(func(fd uintptr) {
			group, err := unix.IoctlGetInt(int(fd), unix.TIOCGPGRP)
			taken = err == nil && group != c.cmd.Process.Pid
		})
		return taken
	})
}

// The shell does not tell a job that runs already that fg brings it to the foreground. The keys of the terminal then
// come to us alone and must reach the child's whole group, here a shell that does not end before its sleep has.
func TestKeysAfterForegroundOfARunningJob(t *testing.T) {
	t.Parallel()
	c := shell(t)
	// Where sleep says that it is ready, no vfork(2) is under way, in which a stop would hang the shell.
	const text = "sh -c 'echo ready; exec sleep 600'; echo the sleep has ended"
	for _, key := range []struct{ char, prompt string }{{ctrlC, "prompt-130: "}, {"\x1c", "prompt-131: "}} {
		c.background(text)
		c.toForeground()
		c.c(key.char)
		c.expect(key.prompt)
	}
	c.background(text)
	c.toForeground()
	c.c(ctrlZ)
	c.expect("Stopped")
	c.expect("prompt-147: ")
	c.toForeground()
	c.c(ctrlC)
	c.expect("prompt-130: ")
}

// A child that was brought to the foreground while it ran may read from the terminal, and change it.
func TestUseOfTheTerminalAfterForegroundOfARunningJob(t *testing.T) {
	t.Parallel()
	for use, reply := range map[string]string{
		"read x; echo got $x":                         "got hello",
		"stty -echo; echo 's'et; read x; echo got $x": "set",
	} {
		t.Run(use, func(t *testing.T) {
			t.Parallel()
			c := shell(t)
			fifo := t.TempDir() + "/fifo"
			c.say("mkfifo " + fifo + "; run " + scriptPlan("echo ready; cat "+fifo+"; "+use) + " &")
			c.expect("ready")
			c.toForeground()
			fifoWrite(t, fifo)
			c.say("hello")
			c.expect(reply)
			c.expect("prompt-0: ")
			c.say("cat")
			c.say("the terminal is the shell's again")
			c.expect("the terminal is the shell's again")
		})
	}
}

// fifoWrite lets the reader of a FIFO go on.
func fifoWrite(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// A stop signal wakes all that the terminal has stopped: a child that waits for another process could not act on it
// otherwise.
func TestStopWakesTheWholeJob(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		text := "trap 'echo caught' TERM; sh -c 'echo ready; exec sleep 1'; echo over"
		c := openConsole(t, m.prepare(t, plan{Args: script(text), Terminal: true}))
		c.expect("ready")
		job := all(c.cmd.Process.Pid)[1:]
		c.c(ctrlZ)
		for _, pid := range job {
			eventually(t, "the job is stopped", func() bool { return state(pid) == 'T' })
		}
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.expect("caught")
		c.expect("over")
		<-c.ended
	})
}

// When somebody stops us alone, the shell takes the terminal from the child, and we must not take it from the shell.
func TestTerminalStaysWithTheShell(t *testing.T) {
	t.Parallel()
	c := shell(t)
	fifo := t.TempDir() + "/fifo"
	c.say("mkfifo " + fifo + "; run " + scriptPlan("echo ready; cat "+fifo+"; echo over"))
	c.expect("ready")
	us := childrenOf(c.cmd.Process.Pid)[0]
	if err := syscall.Kill(us, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.expect("Stopped")
	c.say("bg")
	c.expect("supervisor.test &")
	c.expect("prompt-0: ")
	eventually(t, "we run again", func() bool { return state(us) == 'S' })
	fifoWrite(t, fifo)
	c.expect("over")
	eventually(t, "we have ended", func() bool { return len(childrenOf(c.cmd.Process.Pid)) == 0 })
	c.say("echo the shell $((40+2)) is back")
	c.expect("the shell 42 is back")
}
