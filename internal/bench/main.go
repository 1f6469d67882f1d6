package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

func main() {
	entrypoint := flag.String("entrypoint", "", "the `binary` to measure (default: built from the source)")
	short := flag.Bool("quick", false, "a few turns only: shows that everything runs, the figures mean little")
	only := flag.String("only", "", "`part` to run: inits, garm or provision (default: all)")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	t, code := &standIn{}, make(chan int, 1)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	go func() { code <- run(t, *entrypoint, *short, *only) }()
	select {
	case code := <-code:
		os.Exit(code)
	case <-stop: // leaves nothing behind at Ctrl-C
		t.cleanup()
		os.Exit(130)
	}
}

// run returns the exit code: 0 whether targets are met or not, 1 when something could not be measured.
func run(t *standIn, entrypoint string, short bool, only string) (code int) {
	defer t.cleanup()
	defer func() {
		if fault := recover(); fault != nil {
			if _, ours := fault.(failure); !ours {
				panic(fault)
			}
			fmt.Fprintln(os.Stderr, "bench:", fault)
			code = 1
		}
	}()
	turns := full
	if short {
		turns = quick
	}
	if entrypoint == "" {
		entrypoint = testgarm.Entrypoint(t)
	}
	b := newBench(t, entrypoint, turns)
	fmt.Printf("%s, %s, %d CPUs, load %s\n", runtime.Version(), kernel(), runtime.NumCPU(), load())
	for _, part := range []struct {
		name string
		run  func(io.Writer)
	}{{"inits", b.benchInits}, {"garm", b.benchGarm}, {"provision", b.benchProvision}} {
		if only == "" || only == part.name {
			part.run(os.Stdout)
		}
	}
	fmt.Printf("\nload at the end: %s\n", load())
	return 0
}

func (b *bench) benchInits(w io.Writer) {
	for _, c := range b.inits {
		if c.path == "" {
			fmt.Fprintf(w, "%s is not installed: Debian has it in the package of that name\n", c.name)
		}
	}
	if !b.pid1 {
		fmt.Fprintln(w, "PID namespaces cannot be made here: nothing is measured as PID 1, and no reaping")
	}
	b.initTable().print(w)
}

func (b *bench) benchGarm(w io.Writer) {
	b.garm = testgarm.Garm(b)
	b.garmTable().print(w)
}

func (b *bench) benchProvision(w io.Writer) {
	b.garm = testgarm.Garm(b)
	b.provisionTable().print(w)
}

func load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}

func kernel() string {
	var name syscall.Utsname
	if err := syscall.Uname(&name); err != nil {
		return "unknown kernel"
	}
	var release strings.Builder
	for _, c := range name.Release {
		if c == 0 {
			break
		}
		release.WriteByte(byte(c))
	}
	return "Linux " + release.String()
}

// bench is what all measurements share.
type bench struct {
	testing.TB
	turns
	dir        string
	entrypoint string
	probe      string
	garm       string
	port       int // of garm, one at a time
	inits      []contender
	pid1       bool // a PID namespace can be made
	live       live
}

func newBench(t testing.TB, entrypoint string, turns turns) *bench {
	b := &bench{TB: t, turns: turns, dir: t.TempDir(), port: testgarm.FreePort(t)}
	b.entrypoint = b.copyOf(entrypoint, ours)
	b.live.pids = map[int]bool{}
	t.Cleanup(b.live.kill)
	b.probe = b.buildProbe()
	b.inits = contenders(b.entrypoint, b.buildLeast())
	b.pid1 = b.canBePID1()
	return b
}

// copyOf writes the binary in one piece, as an image's is. The Go linker writes it in many, which leaves it in smaller
// pieces in the page cache, and that costs each of its starts 0.5 ms more.
func (b *bench) copyOf(binary, name string) string {
	data, err := os.ReadFile(binary)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, data, 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}
