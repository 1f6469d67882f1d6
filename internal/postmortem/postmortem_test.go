package postmortem

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const none = math.MaxUint64

// Each layout is one that engines make.
func TestReadCgroup(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  Limits
	}{
		"v2, namespace of its own": {map[string]string{
			"proc/self/cgroup":             "0::/\n",
			"proc/self/mountinfo":          "30 20 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n",
			"sys/fs/cgroup/pids.max":       "24\n",
			"sys/fs/cgroup/pids.events":    "max 7\n",
			"sys/fs/cgroup/memory.max":     "25165824\n",
			"sys/fs/cgroup/memory.events":  "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n",
			"sys/fs/cgroup/memory.current": "1\n",
		}, Limits{Pids: 24, PidsRefused: 7, Memory: 24 << 20, OOMKills: 1}},
		"v2 of a host, limits above": {map[string]string{
			"proc/self/cgroup":                                "0::/a.slice/b.service\n",
			"proc/self/mountinfo":                             "30 20 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/a.slice/pids.max":                  "50\n",
			"sys/fs/cgroup/a.slice/memory.max":                "max\n",
			"sys/fs/cgroup/a.slice/memory.events":             "oom_kill 9\n",
			"sys/fs/cgroup/a.slice/b.service/pids.max":        "max\n",
			"sys/fs/cgroup/a.slice/b.service/memory.max":      "max\n",
			"sys/fs/cgroup/a.slice/b.service/memory.events":   "oom_kill 0\n",
			"sys/fs/cgroup/a.slice/b.service/pids.events":     "max 0\n",
			"sys/fs/cgroup/a.slice/b.service/something.else":  "1\n",
			"sys/fs/cgroup/a.slice/b.service2/something.else": "1\n",
		}, Limits{Pids: 50, Memory: none}},
		"v1, the mount's root is the group": {map[string]string{
			"proc/self/cgroup": "9:pids:/docker/x\n5:memory:/docker/x\n1:name=systemd:/docker/x\n0::/docker/x\n",
			"proc/self/mountinfo": "31 30 0:27 /docker/x /sys/fs/cgroup/pids ro master:9 - cgroup cgroup rw,pids\n" +
				"32 30 0:28 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/pids/pids.max":                "24\n",
			"sys/fs/cgroup/pids/pids.events":             "max 3\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "25165824\n",
			"sys/fs/cgroup/memory/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
		}, Limits{Pids: 24, PidsRefused: 3, Memory: 24 << 20, OOMKills: 2}},
		"both versions, v2 without controllers": {map[string]string{
			"proc/self/cgroup":                           "5:cpuset,memory:/\n0::/\n",
			"proc/self/mountinfo":                        "29 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpuset,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
		}, Limits{Pids: none, Memory: 1 << 20}},
		"nothing mounted": {map[string]string{"proc/self/cgroup": "0::/\n"}, Limits{Pids: none, Memory: none}},
		"no proc":         {nil, Limits{Pids: none, Memory: none}},
		"rubbish": {map[string]string{"proc/self/cgroup": "x\n::\n0::/../..\n", "proc/self/mountinfo": "a - b\n30 20 0:26 / /c - cgroup2 x y\n", "c/pids.max": "x"},
			Limits{Pids: none, Memory: none}},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, path, text)
		}
		if got := readCgroup(root); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestSmall(t *testing.T) {
	t.Parallel()
	big := Limits{Pids: none, Memory: none, Files: none, Processes: none}
	for name, c := range map[string]struct {
		edit func(*Limits)
		want string
	}{
		"none":          {func(*Limits) {}, ""},
		"usual":         {func(l *Limits) { *l = Limits{Pids: 100, Memory: 256 << 20, Files: 1024, Processes: 1024} }, ""},
		"pids":          {func(l *Limits) { l.Pids = 24 }, "the limit of processes is 24, and garm"},
		"pids refused":  {func(l *Limits) { l.Pids, l.PidsRefused = 24, 3 }, "the limit of processes is 24 and refused 3 times, and garm"},
		"processes":     {func(l *Limits) { l.Processes = 10 }, "the user's limit of processes is 10, and"},
		"files":         {func(l *Limits) { l.Files = 16 }, "the limit of open files is 16, and garm needs 64: raise it"},
		"memory":        {func(l *Limits) { l.Memory = 24 << 20 }, "the memory limit is 24 MiB, and garm needs"},
		"kills of late": {func(l *Limits) { l.OOMKills = 5 }, ""},
	} {
		l := big
		c.edit(&l)
		got := l.Small()
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.want)) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestCauses(t *testing.T) {
	t.Parallel()
	small := Limits{Pids: 24, PidsRefused: 1, Memory: 24 << 20, Files: 16, Processes: none}
	killed := small
	killed.OOMKills = 2
	for name, c := range map[string]struct {
		limits Limits
		signal unix.Signal
		want   []string
	}{
		"exit":               {small, 0, []string{"the limit of processes is 24 and refused 1 times", "the limit of open files is 16"}},
		"crash":              {killed, unix.SIGSEGV, []string{"the limit of processes is 24", "the limit of open files is 16"}},
		"killed for memory":  {killed, unix.SIGKILL, []string{"the kernel has killed 2 of this container's processes for their memory, and the limit is 24 MiB"}},
		"killed by somebody": {small, unix.SIGKILL, []string{"somebody killed it with SIGKILL"}},
		"no limits":          {Limits{Pids: none, Memory: none, Files: none, Processes: none}, 0, nil},
		"memory of the machine": {Limits{Memory: none, OOMKills: 1}, unix.SIGKILL,
			[]string{"the kernel has killed 1 of this container's processes for their memory, and the limit is that of the machine"}},
	} {
		got := c.limits.Causes(c.signal)
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: got %q, want %q", name, got[i], want)
			}
		}
	}
}

// The limits of this process are those that the kernel tells.
func TestReadLimits(t *testing.T) {
	t.Parallel()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if got := ReadLimits(); got.Files != limit.Max || got.Pids == 0 || got.Memory == 0 {
		t.Errorf("got %+v, files %d", got, limit.Max)
	}
	if got := FilesOf(os.Getpid()); got != limit.Cur {
		t.Errorf("files of this process: got %d, want %d", got, limit.Cur)
	}
	if got := FilesOf(math.MaxInt32); got != none {
		t.Errorf("files of nobody: got %d", got)
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir+"/empty", "")
	write(t, dir+"/good", sqliteMagic+"...")
	write(t, dir+"/short", "SQLite")
	write(t, dir+"/garbage", strings.Repeat("x", 5000))
	for path, want := range map[string]string{
		"none": "", "empty": "", "good": "", "short": "is not a database", "garbage": "is not a database: restore it", ".": "is a directory",
	} {
		if got := Database(filepath.Join(dir, path)); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func TestSpace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stat unix.Statfs_t
		want string
	}{
		"roomy":      {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 20, Files: 10, Ffree: 5}, ""},
		"full":       {unix.Statfs_t{Bsize: 4096, Blocks: 16, Bavail: 0}, "the file system of /d has 0 bytes left"},
		"nearly":     {unix.Statfs_t{Bsize: 4096, Blocks: 16, Bavail: 3}, "the file system of /d has 12 KiB left"},
		"no inodes":  {unix.Statfs_t{Bsize: 4096, Blocks: 1 << 20, Bavail: 1 << 20, Files: 10}, "no inode left"},
		"no numbers": {unix.Statfs_t{Bsize: 4096}, ""},
	} {
		if got := space("/d/", c.stat); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := Space("/none/such"); got != "" {
		t.Errorf("no such directory: %q", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
