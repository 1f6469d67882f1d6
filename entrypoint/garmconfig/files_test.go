package garmconfig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/file", "")
	mkdir(t, dir+"/dir")
	keyPair(t, dir+"/a")
	keyPair(t, dir+"/b")
	tls := func(certificate, key string) string {
		return "use_tls = true\ntls = {certificate = \"" + certificate + "\", key = \"" + key + "\"}"
	}
	log := func(path string) string { return "[logging]\nlog_file = \"" + path + "\"" }
	for _, c := range []struct{ name, old, new, want string }{
		{"good", "[default]", "[default]", ""},
		{"tls", "use_tls = false", tls(dir+"/a.crt", dir+"/a.key"), ""},
		{"tls, other key", "use_tls = false", tls(dir+"/a.crt", dir+"/b.key"),
			"apiserver.tls: cannot use certificate " + dir + "/a.crt with key " + dir + "/b.key: tls: private key does not match public key"},
		{"tls, missing", "use_tls = false", tls(dir+"/a.crt", dir+"/no/b.key"),
			"apiserver.tls: cannot read " + dir + "/no/b.key: no such file or directory: there is no directory " + dir + "/no: create it"},
		{"tls, empty", "use_tls = false", tls(dir+"/file", dir+"/b.key"), "apiserver.tls: cannot use certificate"},
		{"database without directory", "DIR/garm.db", dir + "/none/garm.db",
			"database.sqlite3.db_file: cannot write " + dir + "/none/garm.db: no such file or directory: there is no directory " + dir + "/none: create it"},
		{"database is a directory", "DIR/garm.db", dir + "/dir", "database.sqlite3.db_file: " + dir + "/dir is a directory: name a file in it"},
		{"database below a file", "DIR/garm.db", dir + "/file/garm.db", "database.sqlite3.db_file: cannot write " + dir + "/file/garm.db: not a directory"},
		{"log file", "[logging]", log(dir + "/new"), ""},
		{"log file there", "[logging]", log(dir + "/file"), ""},
		{"log file in new directories", "[logging]", log(dir + "/x/y/new"), ""},
		{"log to a device", "[logging]", log("/dev/null"), ""},
		{"log file is a directory", "[logging]", log(dir + "/dir"),
			"logging.log_file: " + dir + "/dir is a directory: garm would run and log nothing anywhere: name a file in it"},
		{"log file will be a directory", "[logging]", log(dir + "/z/"), "logging.log_file: " + dir + "/z/ is a directory"},
		{"log file below a file", "[logging]", log(dir + "/file/log"), "logging.log_file: cannot write " + dir + "/file/log: garm would run"},
	} {
		file := filepath.Join(dir, "config.toml")
		write(t, file, string(edit(t, dir, c.old, c.new)))
		_, err := Load(file)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), file+": "+c.want)) {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
		if errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: looks like a missing config: %v", c.name, err)
		}
	}
}

func TestDatabaseIsNew(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/empty.db", "")
	write(t, dir+"/wal.db", "")
	write(t, dir+"/wal.db-wal", "x")
	write(t, dir+"/old.db", "x")
	for _, c := range []struct {
		file string
		want bool
	}{
		{"", false}, // another backend
		{dir + "/missing.db", true},
		{dir + "/empty.db", true},
		{dir + "/wal.db", true}, // sqlite drops that -wal
		{dir + "/old.db", false},
		{dir, false},
	} {
		got, err := (&Config{SQLiteFile: c.file}).DatabaseIsNew()
		if err != nil || got != c.want {
			t.Errorf("%q: got %v, %v, want %v", c.file, got, err, c.want)
		}
	}
	if _, err := (&Config{SQLiteFile: dir + "/old.db/x"}).DatabaseIsNew(); err == nil {
		t.Error("no error for a path below a file")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// keyPair writes a self-signed certificate and its key to base.crt and base.key.
func keyPair(t *testing.T, base string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, base+".crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})))
	write(t, base+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// A FIFO nobody writes to must be refused, not waited for.
func TestTLSFilesAreRegular(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero", "/"} {
		f := &faults{path: "config.toml"}
		(&Config{TLS: true, Certificate: path, Key: path}).checkTLS(f)
		if len(f.list) != 1 || !strings.Contains(f.list[0].text, "not a regular file") {
			t.Errorf("%s: %v", path, f.list)
		}
	}
}
