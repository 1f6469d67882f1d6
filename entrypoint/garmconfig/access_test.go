package garmconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/internal/testgarm"
)

// Files of another user: our verdict, and that of the real garm run as the same user, before any file of a database is
// made.
func TestAccessVerdictIsGarms(t *testing.T) {
	t.Parallel()
	needRoot(t)
	garm := copyGarm(t, testgarm.PublicDir(t))
	main := []string{"garm.db", "garm.db-wal", "garm.db-shm"}
	blob := []string{"blob-garm.db", "blob-garm.db-wal", "blob-garm.db-shm"}
	for _, c := range []struct {
		name      string
		exist     bool     // started once before
		others    []string // files of root, 0644; "." is the directory
		missing   []string
		file, why string // of the fault, if there is one
	}{
		{"all ours", true, nil, nil, "", ""},
		{"new, directory of root", false, []string{"."}, nil, "garm.db", "directory"},
		{"directory of root", true, []string{"."}, nil, "", ""},
		{"main file of root", true, main[:1], nil, "garm.db", "file"},
		{"shm of root", true, main[2:], nil, "garm.db-shm", "file"},
		{"wal missing, directory of root", true, []string{"."}, main[1:2], "garm.db-wal", "directory"},
		{"blobs of root", true, blob, nil, "", ""},
		{"blobs missing", true, nil, blob, "", ""},
		{"blobs missing, directory of root", true, []string{"."}, blob, "blob-garm.db", "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := testgarm.PublicDir(t)
			path := testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Database = dir + "/data/garm.db" })
			must(t, os.Mkdir(dir+"/data", 0o755), os.Chown(dir+"/data", testgarm.UserID, 0), os.Chmod(path, 0o644))
			if c.exist {
				p := startAsUser(t, garm, path)
				testgarm.Eventually(t, 20*time.Second, "garm", testgarm.API(t, testgarm.BaseURL(t, path)).Up)
				p.Signal(15)
				p.Wait(20 * time.Second)
			}
			for _, name := range c.missing {
				must(t, os.Remove(dir+"/data/"+name))
			}
			for _, name := range c.others {
				must(t, os.Chown(dir+"/data/"+name, 0, 0))
			}
			var err error
			testgarm.AsUser(t, func() { _, err = garmconfig.Load(path) })
			if c.file == "" {
				if err != nil {
					t.Error(err)
				}
				startAsUser(t, garm, path)
				testgarm.Eventually(t, 20*time.Second, "garm", testgarm.API(t, testgarm.BaseURL(t, path)).Up)
				return
			}
			want := fmt.Sprintf("cannot write %s/data/%s: permission denied: %s %s/data", dir, c.file, c.why, dir)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("\n got %v\nwant %s", err, want)
			}
			if code := startAsUser(t, garm, path).Wait(20 * time.Second); code != 1 {
				t.Errorf("garm ended with %d", code)
			}
		})
	}
}

func startAsUser(t *testing.T, garm, config string) *testgarm.Proc {
	t.Helper()
	id := fmt.Sprint(testgarm.UserID)
	return testgarm.Start(t, "setpriv", []string{"--reuid", id, "--regid", id, "--clear-groups", garm, "--config", config}, nil)
}

// copyGarm makes garm reachable for another user.
func copyGarm(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "garm")
	data, err := os.ReadFile(testgarm.Garm(t))
	must(t, err, os.WriteFile(path, data, 0o755))
	return path
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make files of another user")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A log file that garm cannot write makes it silent.
func TestAccessOfLogFile(t *testing.T) {
	t.Parallel()
	needRoot(t)
	dir := testgarm.PublicDir(t)
	must(t, os.Mkdir(dir+"/closed", 0o555), os.Mkdir(dir+"/open", 0o777), os.Chmod(dir+"/open", 0o777),
		os.WriteFile(dir+"/open/locked", nil, 0o444), os.WriteFile(dir+"/closed/locked", nil, 0o444),
		os.WriteFile(dir+"/closed/ours", nil, 0o600), os.Chown(dir+"/closed/ours", testgarm.UserID, 0))
	database := dir + "/open/garm.db"
	for log, want := range map[string]string{
		dir + "/open/new":      "",
		dir + "/open/locked":   "", // moved away by garm
		dir + "/closed/ours":   "",
		dir + "/closed/new":    "directory " + dir + "/closed",
		dir + "/closed/x/y":    "directory " + dir + "/closed",
		dir + "/closed/locked": "directory " + dir + "/closed",
	} {
		config := testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Database, s.Default = database, fmt.Sprintf("log_file = %q", log) })
		must(t, os.Chmod(config, 0o644))
		testgarm.AsUser(t, func() {
			_, err := garmconfig.Load(config)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "permission denied: "+want+" is owned by")) {
				t.Errorf("%s:\n got %v\nwant %s", log, err, want)
			}
		})
	}
}
