package testgarm

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const garmModule = "github.com/cloudbase/garm"

// Garm is the path of the real garm server, which is built once per machine for each pinned version; that can take
// minutes.
func Garm(t testing.TB) string { return built(t, garm) }

// GarmCLI is the path of the real garm-cli, built as Garm is.
func GarmCLI(t testing.TB) string { return built(t, garmCLI) }

// Entrypoint is the path of our own binary, built static as for the image, once per test process.
func Entrypoint(t testing.TB) string { return built(t, entrypoint) }

var (
	garm       = sync.OnceValues(func() (string, error) { return buildPinned("garm") })
	garmCLI    = sync.OnceValues(func() (string, error) { return buildPinned("garm-cli") })
	entrypoint = sync.OnceValues(buildEntrypoint)
	version    = sync.OnceValues(pinnedVersion)
)

// Version is the garm release that go.mod pins, such as v0.2.1.
func Version(t testing.TB) string { return built(t, version) }

func built(t testing.TB, build func() (string, error)) string {
	t.Helper()
	value, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func pinnedVersion() (string, error) {
	return goTool(false, "list", "-m", "-f", "{{.Version}}", garmModule)
}

// garmTags are upstream's. The stand-in images use them too, so that sqlite, which takes minutes, is compiled once.
const garmTags = "osusergo,netgo,sqlite_omit_load_extension"

// buildPinned builds one of garm's programs where no process built it yet.
func buildPinned(name string) (string, error) {
	version, err := version()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(version + "-" + runtime.Version() + "-" + runtime.GOARCH)
	if err != nil {
		return "", err
	}
	return once(filepath.Join(dir, name), func(path string) error {
		stamp := "-X " + stampOf(version) + "=" + version
		_, err := goTool(true, "build", "-tags", garmTags, "-o", path, "-ldflags", stamp, garmModule+"/cmd/"+name) // its sqlite is C
		return err
	})
}

// once builds what no process of this machine has built yet.
func once(path string, build func(path string) error) (string, error) {
	lock, err := os.Create(path + ".lock")
	if err != nil {
		return "", err
	}
	defer lock.Close() // unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := build(path + ".tmp"); err != nil {
		return "", err
	}
	return path, os.Rename(path+".tmp", path)
}

// buildEntrypoint keeps the binary under the name of its contents, so that parallel processes share it and one that is
// in use is never replaced.
func buildEntrypoint() (string, error) {
	dir, err := cacheDir("entrypoint")
	if err != nil {
		return "", err
	}
	tmp := filepath.Join(dir, fmt.Sprintf("%d.tmp", os.Getpid()))
	if _, err := goTool(false, "build", "-trimpath", "-o", tmp, "./entrypoint"); err != nil {
		return "", err
	}
	data, err := os.Open(tmp)
	if err != nil {
		return "", err
	}
	defer data.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, data); err != nil {
		return "", err
	}
	prune(dir, 24*time.Hour)
	path := filepath.Join(dir, fmt.Sprintf("garm-entrypoint-%x", hash.Sum(nil)[:8]))
	return path, os.Rename(tmp, path)
}

// prune removes what nobody has built for this long.
func prune(dir string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

func cacheDir(name string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, "garm-entrypoint-tests", name)
	return dir, os.MkdirAll(dir, 0o755)
}

// goTool runs the go command in the module's root and returns what it prints.
func goTool(cgo bool, args ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if cgo {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot run go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// startDir is where go test started us: the directory of the tested package.
var startDir, _ = os.Getwd()

// moduleRoot is the directory of this project's go.mod, above nested modules.
func moduleRoot() (string, error) {
	for dir := startDir; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module garm-entrypoint\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("cannot find the module garm-entrypoint above %s", startDir)
		}
	}
}
