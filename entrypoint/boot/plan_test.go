package boot

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
)

// read is settings.Read where no fault is expected.
func read(t *testing.T, command string, flags map[string]string, env ...string) settings.Settings {
	t.Helper()
	s, warnings, err := settings.Read(command, flags, env)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v %v: %v, warnings %q", flags, env, err, warnings)
	}
	return s
}

func testNoCanary(t *testing.T, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), testgarm.Canary) {
		t.Errorf("no fault, or one that shows the password: %v", err)
	}
}

// planFor makes the plan of a run with these variables.
func planFor(t *testing.T, env ...string) (*Plan, error) {
	t.Helper()
	return Look(read(t, settings.CmdRun, nil, env...), env)
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// names of the files in a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// Nothing but a directory: everything is generated, and only by carryOut.
func TestPlanOfNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	p, err := planFor(t, "GARM_CONFIG="+config)
	if err != nil {
		t.Fatal(err)
	}
	if p.generated == nil || !p.newDatabase || !p.makePassword || p.password != "" {
		t.Errorf("generated %t, new %t, makePassword %t", p.generated != nil, p.newDatabase, p.makePassword)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("making the plan wrote %s", got)
	}
	// What a killed start left behind goes.
	put(t, filepath.Join(dir, ".config.toml.tmp-1"), "half")
	put(t, filepath.Join(dir, ".admin-password.tmp-1"), "half")
	if err := errors.Join(p.carryOut(), p.tidy()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.toml", state.PasswordFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, want it with mode 0600", name, err)
		}
	}
	if got := names(t, dir); strings.Contains(got, "tmp-") {
		t.Errorf("temporary files are left: %s", got)
	}
	if _, err := garmconfig.Load(config); err != nil {
		t.Errorf("the generated config: %v", err)
	}
	kept, err := state.NewKeeper(dir, initializer.MaxPassword).Load()
	if err != nil || len(kept) != 32 || kept != p.password {
		t.Errorf("the kept password has %d bytes (%v) or is not the one in use", len(kept), err)
	}
	// The next start finds it all.
	again, err := planFor(t, "GARM_CONFIG="+config)
	if err != nil || again.generated != nil || again.makePassword || again.password != kept {
		t.Errorf("the next start generates again (%v)", err)
	}
}

func TestPlanConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(dir string)
		want    string
	}{
		"database without its config": {
			func(dir string) { put(t, filepath.Join(dir, "garm.db"), "data") },
			"garm.db exists, and a new passphrase would make it unreadable"},
		"even an empty one": {
			func(dir string) { put(t, filepath.Join(dir, "garm.db"), "") },
			"garm.db exists"},
		"link to nowhere": {
			func(dir string) { _ = os.Symlink("/nowhere", filepath.Join(dir, "config.toml")) },
			"it is a link to nowhere"},
		"broken TOML": {
			func(dir string) { put(t, filepath.Join(dir, "config.toml"), "[database\n") },
			"config.toml"},
		"faults of garm's": {
			func(dir string) { testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Bind = "localhost" }) },
			"apiserver.bind"},
		"certificate missing": {
			func(dir string) {
				testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Certificate, s.Key = "/nowhere.crt", "/nowhere.key" })
			}, "/nowhere.crt"},
	} {
		dir := t.TempDir()
		c.prepare(dir)
		before := names(t, dir)
		_, err := planFor(t, "GARM_CONFIG="+filepath.Join(dir, "config.toml"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if got := names(t, dir); got != before {
			t.Errorf("%s: left %q, found %q", name, got, before)
		}
	}
	// No directory either: it is never made, and the message says what to do.
	_, err := planFor(t, "GARM_CONFIG=/nowhere/garm/config.toml")
	if err == nil || !strings.Contains(err.Error(), "there is no directory /nowhere: create it, or mount a volume there") {
		t.Errorf("missing directory: %v", err)
	}
}

func TestPlanDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content *string
		isNew   bool
	}{
		"missing": {nil, true},
		"empty":   {new(string), true},
		"data":    {func() *string { s := "data"; return &s }(), false},
	} {
		dir := t.TempDir()
		config := testgarm.Config(t, dir)
		if c.content != nil {
			put(t, filepath.Join(dir, "garm.db"), *c.content)
		}
		p, err := planFor(t, "GARM_CONFIG="+config)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// An old database has its admin: a password made now would open nothing.
		if p.newDatabase != c.isNew || p.makePassword != c.isNew || p.generated != nil {
			t.Errorf("%s: new %t, makes a password %t, want both %t", name, p.newDatabase, p.makePassword, c.isNew)
		}
	}
}

func TestPlanKeptPassword(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"kept": "kept", "kept\n": "kept", "kept\r\n": "kept", strings.Repeat("x", initializer.MaxPassword) + "\n": strings.Repeat("x", initializer.MaxPassword),
	} {
		dir := t.TempDir()
		config := testgarm.Config(t, dir)
		put(t, filepath.Join(dir, state.PasswordFile), content)
		p, err := planFor(t, "GARM_CONFIG="+config)
		if err != nil || p.password != want || p.makePassword || !p.passwordKept() {
			t.Errorf("%q: %v, or not %q", content, err, want)
		}
		// One that is configured wins.
		if p, err = planFor(t, "GARM_CONFIG="+config, "GARM_PASSWORD=configured"); err != nil || p.password != "configured" || p.passwordKept() {
			t.Errorf("%q: %v, or not the configured one", content, err)
		}
	}
	for content, want := range map[string]string{
		"":                                    "it is empty",
		"\n":                                  "it is empty",
		"\r\n":                                "it is empty",
		strings.Repeat(testgarm.Canary, 4):    "bytes, garm takes at most 72",
		strings.Repeat(testgarm.Canary, 4000): "longer than 65536 bytes",
		"\xff" + testgarm.Canary:              "it is not valid UTF-8",
	} {
		dir := t.TempDir()
		config, kept := testgarm.Config(t, dir), filepath.Join(dir, state.PasswordFile)
		put(t, kept, content)
		_, err := planFor(t, "GARM_CONFIG="+config)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cannot use the kept password in "+kept) {
			t.Errorf("%.9q: %v, want %q", content, err, want)
		}
		testNoCanary(t, err)
		if data, _ := os.ReadFile(kept); string(data) != content {
			t.Errorf("%.9q: was overwritten", content)
		}
		// Who does not need it is not kept from starting.
		for _, env := range []string{"GARM_PASSWORD=configured", "GARM_INIT=false"} {
			if _, err := planFor(t, "GARM_CONFIG="+config, env); err != nil {
				t.Errorf("%.9q with %s: %v", content, env, err)
			}
		}
	}
}

func TestPlanStateDir(t *testing.T) {
	t.Parallel()
	dir, kept := t.TempDir(), t.TempDir()
	config := testgarm.Config(t, dir)
	p, err := planFor(t, "GARM_CONFIG="+config, "GARM_STATE_DIR="+kept)
	if err != nil || p.keeper.Path() != filepath.Join(kept, state.PasswordFile) {
		t.Fatalf("%v, kept in %s", err, p.keeper.Path())
	}
	if err := p.carryOut(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(names(t, kept), state.PasswordFile) || strings.Contains(names(t, dir), state.PasswordFile) {
		t.Errorf("the state directory has %s", names(t, kept))
	}
	if _, err := planFor(t, "GARM_CONFIG="+config, "GARM_STATE_DIR=/nowhere"); err == nil || !strings.Contains(err.Error(), "there is no directory /nowhere") {
		t.Errorf("missing state directory: %v", err)
	}
}

// A directory of another user is refused before garm starts, with path, owner, our uid and the cure.
func TestPlanOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	theirs, mine := testgarm.PublicDir(t), testgarm.PublicDir(t)
	if err := os.Chown(mine, testgarm.UserID, testgarm.UserID); err != nil {
		t.Fatal(err)
	}
	config := testgarm.Config(t, mine)
	if err := os.Chown(config, testgarm.UserID, testgarm.UserID); err != nil {
		t.Fatal(err)
	}
	who := "we run as " + strconv.Itoa(testgarm.UserID)
	for name, env := range map[string][]string{
		"config and database": {"GARM_CONFIG=" + theirs + "/config.toml", "GARM_PASSWORD=x"},
		"state directory":     {"GARM_CONFIG=" + config, "GARM_STATE_DIR=" + theirs},
	} {
		s := read(t, settings.CmdRun, nil, env...)
		var err error
		testgarm.AsUser(t, func() { _, err = Look(s, nil) })
		for _, part := range []string{"permission denied", "directory " + theirs + " is owned by 0:0", who, "make it writable"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q", name, err, part)
			}
		}
	}
	// With initialising switched off nothing has to be kept.
	s := read(t, settings.CmdRun, nil, "GARM_CONFIG="+config, "GARM_STATE_DIR="+theirs, "GARM_INIT=false")
	var err error
	testgarm.AsUser(t, func() { _, err = Look(s, nil) })
	if err != nil {
		t.Errorf("GARM_INIT=false: %v", err)
	}
	if got := names(t, theirs); got != "" {
		t.Errorf("something was written: %s", got)
	}
}

// Another database has no directory of its own: what must be kept needs one.
func TestPlanOtherBackend(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := testgarm.Config(t, dir)
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	put(t, config, strings.Replace(string(data), "sqlite3", "mysql", 1))
	_, err = planFor(t, "GARM_CONFIG="+config)
	if err == nil || !strings.Contains(err.Error(), "the database is not sqlite, so set GARM_STATE_DIR or GARM_PASSWORD") {
		t.Errorf("nowhere to keep a password: %v", err)
	}
	p, err := planFor(t, "GARM_CONFIG="+config, "GARM_PASSWORD=x")
	if err != nil || p.newDatabase || p.makePassword {
		t.Errorf("with a password: %v", err)
	}
	if p != nil && p.carryOut() != nil {
		t.Error("with a password and no state directory: something was to be written")
	}
	// It may be new or not: a password is made when the server says that it has no admin, and not before.
	if p, err = planFor(t, "GARM_CONFIG="+config, "GARM_STATE_DIR="+dir); err != nil || p.makePassword || p.keeper.Path() == "" {
		t.Errorf("with a state directory: %v", err)
	}
	if got := names(t, dir); got != "config.toml" {
		t.Errorf("the directory has %s", got)
	}
}

// A first boot that was never proven, and initialising switched off: garm serves whoever is its admin by now, which is
// said. Who may not list the config's directory cannot have left anything there, and starts all the same. Without /proc
// garm could not read the config of a guarded boot. init that would have to keep a password, and could not, is refused
// before it asks the server for anything. A password that another process has kept is used, and never removed: it may
// be in force for an admin of another name.
