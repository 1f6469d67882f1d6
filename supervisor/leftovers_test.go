package supervisor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree is a child that leaves a tree behind, which has left its group and its session, and writes what happens to
// files. The shell's wait is interrupted by traps.
const tree = `
cd "$DIR"
leaf() { # name, what it does on SIGTERM
	trap "$2" TERM
	echo > "$1.up"
	while :; do sleep 60 & wait $!; done
}
( leaf group 'echo > group.term; exit' ) &
setsid sh -c 'trap "echo > session.term; exit" TERM; echo > session.up; while :; do sleep 60 & wait $!; done' &
( setsid sh -c '(trap "echo > double.term; exit" TERM; echo > double.up; while :; do sleep 60 & wait $!; done) &' )
( trap "echo > stopped.term; exit" TERM; echo > stopped.up; kill -STOP $(cut -d" " -f4 < /proc/self/stat); sleep 60 ) &
STUBBORN
while ! [ -e group.up -a -e session.up -a -e double.up -a -e stopped.up EXTRA ]; do sleep 0.01; done
echo ready
read line
exit 9
`

// files lists the files in dir with a suffix.
func files(t *testing.T, dir, suffix string) (names string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		names += strings.TrimSuffix(filepath.Base(path), suffix) + " "
	}
	return strings.TrimSpace(names)
}

// all lists the processes below pid, itself included.
func all(pid int) (pids []int) {
	pids = []int{pid}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, childrenOf(pids[i])...)
	}
	return pids
}

// What is left of the child's tree gets SIGTERM, also beyond its group and its session, and nothing outlives us.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		text := strings.NewReplacer("STUBBORN", "", "EXTRA", "").Replace(tree)
		s := m.start(t, plan{Args: script(text), Env: []string{"DIR=" + dir}, Grace: time.Minute})
		s.expect("ready")
		pids := all(s.cmd.Process.Pid)
		if len(pids) < 8 {
			t.Fatalf("there should be more processes below us: %v", pids)
		}
		s.say("end")
		s.expectCode(9)
		if got := files(t, dir, ".term"); got != "double group session stopped" {
			t.Errorf("these got SIGTERM: %s", got)
		}
		expectGone(t, pids)
	})
}

// Those that ignore SIGTERM are killed after the grace, also while they go on forking.
func TestStubbornLeftovers(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		dir := t.TempDir()
		text := strings.NewReplacer("STUBBORN", `
			( setsid sh -c '(trap "" TERM; echo > deaf.up; while :; do sleep 0.01; done) &' )
			( setsid sh -c '(trap "" TERM; echo > forking.up; while :; do (sleep 0.02 &) ; sleep 0.005; done) &' )
		`, "EXTRA", "-a -e deaf.up -a -e forking.up").Replace(tree)
		const grace = 300 * time.Millisecond
		s := m.start(t, plan{Args: script(text), Env: []string{"DIR=" + dir}, Grace: grace})
		s.expect("ready")
		pids := all(s.cmd.Process.Pid)
		start := time.Now()
		s.say("end")
		s.expectCode(9)
		if took := time.Since(start); took < grace || took > grace+killLimit*9/10 {
			t.Errorf("it took %v", took)
		}
		if got := files(t, dir, ".term"); got != "double group session stopped" {
			t.Errorf("these got SIGTERM: %s", got)
		}
		expectGone(t, pids)
		if text := s.stderr.String(); !strings.Contains(text, "are killed") {
			t.Errorf("the log does not say so: %s", text)
		}
	})
}

func expectGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if state(pid) != 0 {
			stat, _ := os.ReadFile("/proc/" + itoa(pid) + "/stat")
			t.Errorf("process %d has outlived the supervisor: %s", pid, stat)
		}
	}
}

// Without leftovers the end is not delayed, and nothing is said.
func TestNoLeftovers(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		s := m.start(t, plan{Args: []string{"true"}, Grace: time.Minute})
		s.expectCode(0)
		if text := s.stderr.String(); text != "" {
			t.Errorf("stderr: %s", text)
		}
	})
}

// Without /proc PID 1 does the same; a subreaper cannot, and says so.
func TestLeftoversWithoutProc(t *testing.T) {
	t.Parallel()
	needNamespaces(t)
	inModes(t, func(t *testing.T, m mode) {
		p := plan{Args: script("sleep 60 > /dev/null 2>&1 & echo $!; exit 9"), Proc: "hide", Grace: time.Minute}
		cmd := m.prepare(t, p)
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
		s := launch(t, cmd)
		left, err := strconv.Atoi(s.next())
		if err != nil {
			t.Fatal(err)
		}
		s.expectCode(9)
		if !m.init {
			_ = syscall.Kill(left, syscall.SIGKILL)
		}
		want := 1 // and no second look, which would be in vain
		if m.init {
			want = 0
		}
		if said := strings.Count(s.stderr.String(), "/proc; "); said != want {
			t.Errorf("said %d times, want %d: %s", said, want, s.stderr)
		}
	})
}

func init() {
	// closer calls Close while its child, which does not heed SIGTERM, still runs.
	roles["closer"] = func() {
		s, err := New(Options{Grace: time.Hour})
		must(err)
		_, err = s.Start(plan{Args: script(`trap "echo asked" TERM; echo ready; while :; do sleep 600 & wait; done`)}.command())
		must(err)
		readLine()
		s.Close()
	}
}

// Close ends as soon as nothing is left, whoever comes to know it first: here it is who wants to know whether the child
// still lives, to forward a signal that came before its end was noticed.
func TestCloseWithTheLastDeath(t *testing.T) {
	t.Parallel()
	inModes(t, func(t *testing.T, m mode) {
		cmd := m.prepare(t, plan{})
		cmd.Env = append(cmd.Env, roleVar+"=closer")
		s := launch(t, cmd)
		s.expect("ready")
		s.say("go on")
		s.expect("asked")
		child := onlyChild(t, s)
		s.signal(syscall.SIGSTOP)
		eventually(t, "it is stopped", func() bool { return state(s.cmd.Process.Pid) == 'T' })
		s.signal(syscall.SIGQUIT)
		// The child first, which may be just starting another sleep. What it leaves behind is ours then.
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all are dead", func() bool {
			dead := state(child) == 'Z'
			for _, pid := range childrenOf(s.cmd.Process.Pid) {
				if state(pid) != 'Z' {
					_ = syscall.Kill(pid, syscall.SIGKILL)
					dead = false
				}
			}
			return dead
		})
		s.signal(syscall.SIGCONT)
		s.expectCode(0)
	})
}
