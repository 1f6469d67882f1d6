package testgarm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// The garm releases that people run and that tests can have for real.
const (
	V014 = "v0.1.4"
	V015 = "v0.1.5"
	V018 = "v0.1.8"
	V021 = "v0.2.1"
)

// releasesVariable asks for all releases; make test-versions sets it.
const releasesVariable = "GARM_ENTRYPOINT_VERSIONS"

// Releases are the garm versions to test with, oldest first: all of them when asked for, else the pinned one, which is
// built anyway.
func Releases(t testing.TB) []string {
	t.Helper()
	if os.Getenv(releasesVariable) == "" {
		return []string{Version(t)}
	}
	return []string{V014, V015, V018, V021}
}

// Release is the path of the garm server of that version. One that is not pinned is built once per machine; with
// nothing cached that takes minutes.
func Release(t testing.TB, version string) string {
	t.Helper()
	if version == Version(t) {
		return Garm(t)
	}
	releasesLock.Lock()
	build := releases[version]
	if build == nil {
		build = sync.OnceValues(func() (string, error) { return buildRelease(version) })
		releases[version] = build
	}
	releasesLock.Unlock()
	return built(t, build)
}

var (
	releasesLock sync.Mutex
	releases     = map[string]func() (string, error){}
)

// buildRelease builds garm as upstream does: in its own module, so that its own go.mod with its replacements and its
// own go.sum decide about every dependency.
func buildRelease(version string) (string, error) {
	dir, err := cacheDir(version + "-" + runtime.Version() + "-" + runtime.GOARCH)
	if err != nil {
		return "", err
	}
	return once(filepath.Join(dir, "garm"), func(path string) error {
		source, err := download(version)
		if err != nil {
			return err
		}
		cmd := exec.Command("go", "build", "-tags", garmTags, "-o", path, "-ldflags", "-X "+stampOf(version)+"="+version, "./cmd/garm")
		cmd.Dir = source
		// The zip of a module holds no usable vendor directory.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOWORK=off", "GOFLAGS=-mod=readonly")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot build garm %s: %w\n%s", version, err, out)
		}
		return nil
	})
}

// stampOf is the variable that holds the version.
func stampOf(version string) string {
	if version == V014 {
		return "main.Version"
	}
	return garmModule + "/util/appdefaults.Version"
}

// download returns the directory of garm's module, which is read-only.
func download(version string) (string, error) {
	empty, err := os.MkdirTemp("", "garm-entrypoint-test-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(empty)
	cmd := exec.Command("go", "mod", "download", "-json", garmModule+"@"+version)
	cmd.Dir = empty // outside of our module, whose pin must not matter
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) != nil || err != nil {
		return "", fmt.Errorf("cannot download garm %s: %w %s", version, err, module.Error)
	}
	return module.Dir, nil
}
