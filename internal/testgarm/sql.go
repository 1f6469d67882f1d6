package testgarm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

var sqlTool = sync.OnceValues(buildSQL)

// SQL runs statements on a sqlite file, which a server may have open, and returns the first column of all rows, a line
// each.
func SQL(t testing.TB, file string, statements ...string) string {
	t.Helper()
	out, err := exec.Command(built(t, sqlTool), append([]string{file}, statements...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("cannot change %s: %v\n%s", file, err, out)
	}
	return strings.TrimSpace(string(out))
}

// buildSQL uses garm's own sqlite with garm's own flags, which is compiled already.
func buildSQL() (string, error) {
	version, err := version()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(version + "-" + runtime.Version() + "-" + runtime.GOARCH)
	if err != nil {
		return "", err
	}
	tmp := filepath.Join(dir, fmt.Sprintf("sql-%d.tmp", os.Getpid()))
	if _, err := goTool(true, "build", "-tags", garmTags, "-o", tmp, "./internal/testgarm/testdata/sql"); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sql")
	return path, os.Rename(tmp, path)
}
