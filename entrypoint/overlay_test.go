package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/state"
	"garm-entrypoint/internal/testgarm"
)

// bareConfig writes a config to dir that holds neither the jwt secret nor the passphrase.
func bareConfig(t *testing.T, dir string) {
	t.Helper()
	path := testgarm.Config(t, dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, regexp.MustCompile(`(?m)^(secret|passphrase) = .*\n`).ReplaceAllString(string(data), ""))
}

// nowhere fails the test when a file below dir holds one of the secrets.
func nowhere(t *testing.T, dir string, secrets ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds a secret", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// argsOfGarm are those of the one child of ours.
func argsOfGarm(t *testing.T, r *run) string {
	t.Helper()
	data, err := os.ReadFile("/proc/" + itoa(childOf(t, r.Pid())) + "/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A config.toml without secrets: garm gets them through a pipe, and they are nowhere else; a rotation is said once, a
// passphrase that is not the database's is refused.
func TestOverlayOfSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bareConfig(t, dir)
	passphrase := filepath.Join(t.TempDir(), "passphrase")
	put(t, passphrase, testgarm.Passphrase+"\r\n")
	const rotated = "rotatedcanaryM4Kx8Qw2Zs6Tb1Vn5Lp"
	boot := func(env ...string) *run {
		r := start(t, dir, nil, append([]string{"GARM_DATABASE_PASSPHRASE_FILE=" + passphrase}, env...)...)
		testgarm.WatchCanary(t, r.Proc, testgarm.JWTSecret, testgarm.Passphrase, rotated)
		t.Cleanup(func() {
			testgarm.NoCanary(t, []*testgarm.Proc{r.Proc}, testgarm.JWTSecret, testgarm.Passphrase, rotated)
		})
		return r
	}
	for n, jwt := range []string{testgarm.JWTSecret, testgarm.JWTSecret, rotated, rotated} {
		r := boot("GARM_JWT_SECRET=" + jwt)
		r.ready()
		if args := argsOfGarm(t, r); !strings.Contains(args, "/proc/self/fd/3") {
			t.Errorf("garm's arguments are %q", args)
		}
		r.proven(testgarm.Canary)
		if said := strings.Contains(r.Stderr(), "the jwt secret was rotated"); said != (n == 2) {
			t.Errorf("start %d: said that the secret was rotated: %t", n, said)
		}
		health := testgarm.Start(t, testgarm.Entrypoint(t), []string{"healthcheck"}, []string{"GARM_CONFIG=" + r.config})
		if code := health.Wait(patience); code != 0 {
			t.Errorf("the health check ends with %d", code)
		}
		r.stop()
		nowhere(t, dir, testgarm.JWTSecret, testgarm.Passphrase, rotated)
	}
	put(t, passphrase, strings.Repeat("x", 32))
	r := boot("GARM_JWT_SECRET=" + rotated)
	if code := r.Wait(patience); code != exitConfig || !strings.Contains(r.Stderr(), "GARM_DATABASE_PASSPHRASE: it is not the one which the database was made with") {
		t.Errorf("another passphrase: ended with %d", code)
	}
	if strings.Contains(r.Stderr(), "starting garm") {
		t.Error("garm was started on another passphrase")
	}
	// A new database may have another one.
	for _, file := range []string{"garm.db", "garm.db-wal", "garm.db-shm", "blob-garm.db", "blob-garm.db-wal", "blob-garm.db-shm"} {
		_ = os.Remove(filepath.Join(dir, file)) // whichever there are
	}
	put(t, passphrase, "anotherH7Jd3Fg9Sa5Wq1Er8Ty2Kz6Bm")
	r = boot("GARM_JWT_SECRET=" + rotated)
	r.ready()
	r.stop()
}

// Without the two variables, and where the file says the same, garm is started as ever, and nothing more is kept.
func TestOverlayOfNothing(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{"unset": nil, "empty": {"GARM_JWT_SECRET=", "GARM_DATABASE_PASSPHRASE="},
		"the same": {"GARM_JWT_SECRET=" + testgarm.JWTSecret, "GARM_DATABASE_PASSPHRASE=" + testgarm.Passphrase}} {
		r := start(t, t.TempDir(), nil, env...)
		r.ready()
		if args := argsOfGarm(t, r); args != testgarm.Garm(t)[strings.LastIndex(testgarm.Garm(t), "/")+1:]+"\x00--config\x00"+r.config+"\x00" {
			t.Errorf("%s: garm's arguments are %q", name, args)
		}
		r.stop()
		if _, err := os.Stat(filepath.Join(r.dir, state.SecretsName)); (err == nil) != (name == "the same") {
			t.Errorf("%s: fingerprints: %v", name, err)
		}
	}
}

// What cannot be meant is refused, and shows no secret. check finds it, and asks garm about what is left.
func TestOverlayFaults(t *testing.T) {
	t.Parallel()
	const strong = "anotherH7Jd3Fg9Sa5Wq1Er8Ty2Kz6Bm"
	bare, full := t.TempDir(), t.TempDir()
	bareConfig(t, bare)
	testgarm.Config(t, full)
	for name, c := range map[string]struct {
		dir  string
		env  []string
		code int
		want string
	}{
		"good":       {bare, []string{"GARM_JWT_SECRET=" + strong, "GARM_DATABASE_PASSPHRASE=" + strong}, 0, "garm's verdict: good"},
		"one lacks":  {bare, []string{"GARM_DATABASE_PASSPHRASE=" + strong}, exitConfig, "jwt_auth.secret is missing"},
		"both":       {full, []string{"GARM_JWT_SECRET=" + strong}, exitConfig, "jwt_auth.secret is another one than GARM_JWT_SECRET"},
		"both, too":  {full, []string{"GARM_DATABASE_PASSPHRASE=" + strong}, exitConfig, "database.passphrase is another one than GARM_DATABASE_PASSPHRASE"},
		"short":      {bare, []string{"GARM_JWT_SECRET=" + strong, "GARM_DATABASE_PASSPHRASE=" + strong[1:]}, exitConfig, "it has 31 bytes"},
		"not UTF-8":  {bare, []string{"GARM_JWT_SECRET=" + strong + "\xff", "GARM_DATABASE_PASSPHRASE=" + strong}, exitConfig, "not valid UTF-8"},
		"two values": {bare, []string{"GARM_JWT_SECRET=" + strong, "GARM_JWT_SECRET_FILE=/x"}, exitConfig, "GARM_JWT_SECRET and GARM_JWT_SECRET_FILE together"},
		"garm's own verdict": {bare, []string{"GARM_JWT_SECRET=" + strong, "GARM_DATABASE_PASSPHRASE=" + strings.Repeat("a", 32)},
			exitConfig, "garm ends with exit status 1"},
	} {
		p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"},
			append([]string{"GARM_CONFIG=" + filepath.Join(c.dir, "config.toml"), "GARM_BINARY=" + testgarm.Garm(t)}, c.env...))
		if code := p.Wait(patience); code != c.code || !strings.Contains(p.Output(), c.want) {
			t.Errorf("%s: code %d, want %d and %q", name, code, c.code, c.want)
		}
		testgarm.NoCanary(t, []*testgarm.Proc{p}, strong, strong[1:])
	}
}

// A config that is generated with the two given holds neither.
func TestOverlayOfGeneratedConfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	env := []string{"GARM_CONFIG=" + config, "GARM_BINARY=" + os.Args[0], "FAKE_GARM=exit 3", "GARM_JWT_SECRET=" + testgarm.JWTSecret, "GARM_DATABASE_PASSPHRASE=" + testgarm.Passphrase}
	for range 2 { // made, then read
		p := testgarm.Start(t, testgarm.Entrypoint(t), nil, env)
		if code := p.Wait(patience); code != 3 {
			t.Errorf("ended with %d, want garm's 3", code)
		}
	}
	nowhere(t, dir, testgarm.JWTSecret, testgarm.Passphrase)
	data, err := os.ReadFile(config)
	if err != nil || regexp.MustCompile(`(?m)^\s*(secret|passphrase)\s*=`).Match(data) {
		t.Errorf("the config holds a secret of its own: %v", err)
	}
}
