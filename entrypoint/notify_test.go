package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

// notified plays the service manager's end of the socket.
type notified struct {
	mutex    sync.Mutex
	messages []string
}

func listenNotify(t *testing.T, socket string) *notified {
	t.Helper()
	listener, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	n := &notified{}
	go func() {
		for data := make([]byte, 4096); ; {
			size, err := listener.Read(data)
			if err != nil {
				return
			}
			n.mutex.Lock()
			n.messages = append(n.messages, string(data[:size]))
			n.mutex.Unlock()
		}
	}()
	return n
}

func (n *notified) String() string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return strings.Join(n.messages, "\n--\n")
}

// waitFor waits for a line of a message, and counts its messages so far.
func (n *notified) waitFor(t *testing.T, line string) {
	t.Helper()
	pattern := regexp.MustCompile("(?m)^" + line + "$")
	testgarm.Eventually(t, patience, "the message "+line, func() bool { return pattern.MatchString(n.String()) })
}

// A service manager learns that garm is ready when it is, not before, and that it stops; garm itself does not know the
// socket.
func TestNotify(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{
		"path":     filepath.Join(t.TempDir(), "notify"),
		"abstract": fmt.Sprintf("@garm-entrypoint-test-%d-%d", os.Getpid(), time.Now().UnixNano()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := listenNotify(t, socket)
			r := start(t, t.TempDir(), nil, "NOTIFY_SOCKET="+socket, "GARM_BASE_URL=http://garm.example.com", "GARM_START_TIMEOUT=7m", "GARM_STOP_TIMEOUT=20s")
			n.waitFor(t, "READY=1")
			// Whoever is ordered after us finds an initialised garm.
			r.proven(testgarm.Canary)
			if said := n.String(); !strings.HasPrefix(said, "EXTEND_TIMEOUT_USEC=435000000\nSTATUS=starting garm\n--\nREADY=1\nSTATUS=ready at http://garm.example.com") ||
				strings.Contains(said, "STOPPING") {
				t.Errorf("the start was told as %q", said)
			}
			environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", childOf(t, r.Pid())))
			if err != nil || !bytes.Contains(environ, []byte("GARM_BASE_URL=")) || bytes.Contains(environ, []byte("NOTIFY_SOCKET")) {
				t.Errorf("garm's environment: %q, %v", environ, err)
			}
			r.stop()
			n.waitFor(t, "STOPPING=1")
			n.waitFor(t, "EXTEND_TIMEOUT_USEC=35000000")
			if said := n.String(); strings.Count(said, "READY=1") != 1 || strings.Count(said, "STOPPING=1") != 1 || strings.Contains(said, testgarm.Canary) {
				t.Errorf("said more than once, or too much: %q", said)
			}
		})
	}
}

// A garm that serves is never stopped, by a manager's timeout neither, because our credentials do not fit; one that is
// switched to no initialising is ready once it was started; one that never becomes ready never says so.
func TestNotifyNotInitialised(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), nil)
	r.ready()
	r.stop()
	for name, test := range map[string]struct{ env, says string }{
		"other credentials": {"GARM_PASSWORD=another-kX9#mQ2$", "STATUS=garm serves, but it is not initialised as configured: .*"},
		"switched off":      {"GARM_INIT=false", "STATUS=garm was started; initialising is switched off"},
	} {
		socket := filepath.Join(t.TempDir(), "notify")
		n := listenNotify(t, socket)
		r = start(t, r.dir, nil, "NOTIFY_SOCKET="+socket, test.env)
		n.waitFor(t, "READY=1")
		n.waitFor(t, test.says)
		r.WaitFor("not initialised as configured|switched off", patience)
		testgarm.Eventually(t, patience, "garm's API", testgarm.API(t, testgarm.BaseURL(t, r.config)).Up)
		r.stop()
		if t.Failed() {
			t.Log(name)
		}
	}
	socket := filepath.Join(t.TempDir(), "notify")
	n := listenNotify(t, socket)
	weak := start(t, t.TempDir(), nil, "NOTIFY_SOCKET="+socket, "GARM_PASSWORD=Passw0rd!")
	if code := weak.Wait(patience); code != exitConfig {
		t.Errorf("ended with %d, want %d", code, exitConfig)
	}
	n.waitFor(t, "STOPPING=1")
	if strings.Contains(n.String(), "READY") {
		t.Errorf("ready for what was refused: %q", n.String())
	}
}

// A manager that cannot be reached is one warning each time, and no failure.
func TestNotifyNobody(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), nil, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "nobody"))
	r.ready()
	r.WaitFor("level=WARN.*cannot notify the service manager", patience)
	r.stop()
}
