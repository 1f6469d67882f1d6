package testgarm

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Canary is a password that garm accepts and that must never be seen: not in any output, argument list or environment
// but the one it was given in.
const Canary = "canary-Zx9!vQ2#Lm8$nB4&wT7"

// forms are the spellings in which a secret may leak.
func forms(secret string) []string {
	return []string{secret, url.QueryEscape(secret), url.PathEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
		strings.ReplaceAll(secret, "&", `\u0026`)} // encoding/json
}

// holds tells whether text shows a secret in one of its forms.
func holds(text []byte, secrets []string) bool {
	for _, secret := range secrets {
		for _, form := range forms(secret) {
			if bytes.Contains(text, []byte(form)) {
				return true
			}
		}
	}
	return false
}

// NoCanary fails the test when the output of one of these processes holds the canary or one of the other secrets.
func NoCanary(t testing.TB, procs []*Proc, others ...string) {
	t.Helper()
	for _, p := range procs {
		if holds([]byte(p.Output()), append(others, Canary)) {
			t.Errorf("the output of %s shows a secret", p.cmd.Path)
		}
	}
}

// WatchCanary looks, until the process has ended or the test does, for the canary and the other secrets in the
// arguments of the process and in arguments and environment of its descendants. Call it right after Start. What lives
// shorter than a few milliseconds can escape it.
func WatchCanary(t testing.TB, p *Proc, others ...string) {
	secrets := append(others, Canary)
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for found := ""; found == ""; {
			select {
			case <-stop:
				return
			case <-p.ended:
				return
			case <-time.After(2 * pollStep):
			}
			if found = leak(p.Pid(), secrets); found != "" {
				t.Errorf("%s shows a secret", found)
			}
		}
	}()
}

// leak is the name of a file in /proc in which the process or one of its descendants shows a secret; "" when there is
// none.
func leak(pid int, secrets []string) string {
	files := []string{procFile(pid, "cmdline")}
	for _, child := range descendants(pid) {
		files = append(files, procFile(child, "cmdline"), procFile(child, "environ"))
	}
	own, _ := os.Readlink(procFile(pid, "exe"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && holds(data, secrets) {
			// Between fork and exec a child still is its parent, memory and all.
			if exe, _ := os.Readlink(filepath.Join(filepath.Dir(file), "exe")); exe == own && filepath.Base(file) == "environ" {
				continue
			}
			args, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "comm"))
			return fmt.Sprintf("%s of %s", file, bytes.TrimSpace(args))
		}
	}
	return ""
}

func procFile(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// descendants are the ids of all processes below pid, parents first.
func descendants(pid int) []int {
	children := map[int][]int{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		child, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(procFile(child, "stat"))
		if err != nil {
			continue // gone
		}
		// "pid (comm) state ppid ...", and comm may hold anything
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		parent, _ := strconv.Atoi(string(fields[1]))
		children[parent] = append(children[parent], child)
	}
	tree := children[pid]
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
}
