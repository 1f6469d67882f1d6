package state

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestFingerprints(t *testing.T) {
	t.Parallel()
	file := NewSecretsFile(t.TempDir())
	if kept, err := file.Load(); kept != nil || err != nil {
		t.Errorf("nothing kept: %v, %v", kept, err)
	}
	made, err := NewFingerprints("jwt", "phrase")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Save(made); err != nil {
		t.Fatal(err)
	}
	kept, err := file.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !kept.JWTIs("jwt") || kept.JWTIs("phrase") || !kept.PassphraseIs("phrase") || kept.PassphraseIs("jwt") || kept.PassphraseIs("") {
		t.Error("the fingerprints are those of other secrets")
	}
	if info, err := os.Stat(file.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again, err := NewFingerprints("jwt", "phrase")
	if err != nil || bytes.Equal(again.JWT, made.JWT) {
		t.Errorf("the same secret has the same fingerprint elsewhere (%v): it could be looked up", err)
	}
	for _, damaged := range []string{"", "{}", "[1]", `{"key":""}`, "\x00"} {
		if err := os.WriteFile(file.Path(), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if kept, err := file.Load(); kept != nil || err == nil || !strings.Contains(err.Error(), SecretsName) {
			t.Errorf("%q: %v, %v", damaged, kept, err)
		}
	}
	nowhere := NewSecretsFile("")
	if kept, err := nowhere.Load(); kept != nil || err != nil || nowhere.Save(made) != nil || nowhere.Tidy() != nil {
		t.Errorf("without a directory: %v, %v", kept, err)
	}
}
