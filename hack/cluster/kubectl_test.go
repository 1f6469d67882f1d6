package cluster

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const commandTimeout = 6 * time.Minute

// space is a namespace with a copy of the repository's examples, where commands are typed as a reader does.
type space struct {
	t    *testing.T
	name string
	dir  string
}

// newSpace makes a copy of the examples without anybody's secrets. The namespace is made by the commands that readers
// are told, or by ready.
func newSpace(t *testing.T, name string) *space {
	t.Helper()
	s := &space{t: t, name: name, dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(s.dir, "examples/kubernetes"), os.DirFS("../../examples/kubernetes")); err != nil {
		t.Fatal(err)
	}
	secrets, err := filepath.Glob(filepath.Join(s.dir, "examples/kubernetes/*/secret/[!.]*"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(s.dir, "examples/kubernetes/overlays/*/secret/[!.]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(secrets, more...) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	s.makeVolume()
	t.Cleanup(s.remove)
	return s
}

// ready makes the namespace, under the restricted standard, and the secrets.
func (s *space) ready(flags ...string) {
	s.t.Helper()
	s.sh("examples/kubernetes/make-secret.sh " + strings.Join(flags, " "))
	s.sh("kubectl create namespace garm")
	s.sh("kubectl label namespace garm pod-security.kubernetes.io/enforce=restricted")
}

// makeVolume offers the claim a directory of the node. It is open to all, as test clusters make it: hostPath knows no
// fsGroup.
func (s *space) makeVolume() {
	s.t.Helper()
	dir := s.t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // as test clusters do
		s.t.Fatal(err)
	}
	for parent := filepath.Dir(dir); parent != "/tmp" && parent != "/"; parent = filepath.Dir(parent) {
		_ = os.Chmod(parent, 0o755) //nolint:gosec // the pod's user passes through
	}
	s.apply(fmt.Sprintf(`{apiVersion: v1, kind: PersistentVolume, metadata: {name: %[1]s}, spec: {
  capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], persistentVolumeReclaimPolicy: Retain,
  claimRef: {namespace: %[1]s, name: data-garm-0}, hostPath: {path: %[2]s}}}`, s.name, dir))
}

// apply applies a manifest.
func (s *space) apply(manifest string) {
	s.t.Helper()
	cmd := exec.Command("kubectl", "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("kubectl apply: %v: %s", err, out)
	}
}

// remove deletes the namespace. Of a failed test it shows what the cluster says.
func (s *space) remove() {
	if s.t.Failed() {
		for _, command := range []string{"kubectl get all,events -n garm", "kubectl describe pods -n garm",
			"kubectl logs -n garm --all-containers --prefix --tail=40 -l app.kubernetes.io/name=garm"} {
			out, _ := s.try(command)
			s.t.Logf("%s:\n%s", command, out)
		}
	}
	if out, err := s.try("kubectl delete namespace garm --ignore-not-found --timeout=180s"); err != nil {
		s.t.Errorf("cannot delete the namespace: %v: %s", err, out)
	}
	if out, err := s.try("kubectl delete pv " + s.name); err != nil {
		s.t.Errorf("cannot delete the volume: %v: %s", err, out)
	}
}

var namespaceWord = regexp.MustCompile(`(-n|namespace) garm\b`)

// try types a line in a shell. Readers' namespace garm is this test's own.
func (s *space) try(line string) (string, error) {
	line = namespaceWord.ReplaceAllString(line, "$1 "+s.name)
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", line)
	cmd.Dir = s.dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return strings.TrimSpace(out.String()), err
}

// sh is try for what must succeed.
func (s *space) sh(line string) string {
	s.t.Helper()
	out, err := s.try(line)
	if err != nil {
		s.t.Fatalf("%s: %v: %s", line, err, out)
	}
	return out
}

// writeCertificate makes tls.crt and tls.key for the Service's name, where the commands are typed.
func (s *space) writeCertificate() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "garm"}, DNSNames: []string{"garm"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(s.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// eventually polls until the condition holds.
func eventually(t *testing.T, timeout time.Duration, what string, condition func() error) {
	t.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(pollStep) {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still waiting for %s after %v: %v", what, timeout, err)
		}
	}
}
