package test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// variants are all that can be applied, by their path in examples/kubernetes.
var variants = []string{"base", "overlays/tls", "overlays/init-container", "overlays/sidecar", "overlays/job", "overlays/operator", "overlays/provision"}

// foreignSecret is made by the operator's release.
const foreignSecret = "webhook-server-cert"

// examples returns a copy of examples/kubernetes as it is in git: without this
// module, and without the secrets that a developer may have made there.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("..")); err != nil {
		t.Fatal(err)
	}
	for _, secrets := range []string{"base/secret", "overlays/tls/secret", "overlays/provision/secret"} {
		files, err := filepath.Glob(filepath.Join(dir, secrets, "[!.]*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// withSecrets is examples after what docs/kubernetes.md tells people to do for the
// variant: make the secrets, and for TLS put a certificate there.
func withSecrets(t *testing.T, variant string) string {
	t.Helper()
	dir := examples(t)
	var args []string
	if variant == "overlays/tls" {
		args = []string{"--tls"}
		writeCertificate(t, filepath.Join(dir, variant, "secret"))
	}
	if out, err := exec.Command(filepath.Join(dir, "make-secret.sh"), args...).CombinedOutput(); err != nil {
		t.Fatalf("make-secret.sh: %v: %s", err, out)
	}
	if variant == provisionVariant {
		prepareProvision(t, dir)
	}
	return dir
}

// writeCertificate makes tls.crt and tls.key for the Service's name.
func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "garm"}, DNSNames: []string{"garm"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: certificate},
		"tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// kustomize builds a directory as kubectl kustomize does.
func kustomize(dir string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	return built.AsYaml()
}

// objects are the decoded manifests of one build.
type objects []runtime.Object

// build builds and decodes a variant of a copy of the examples.
func build(t *testing.T, dir, variant string) objects {
	t.Helper()
	manifests, err := kustomize(filepath.Join(dir, variant))
	if err != nil {
		t.Fatalf("%s: %v", variant, err)
	}
	decoded, err := decode(manifests)
	if err != nil {
		t.Fatalf("%s: %v", variant, err)
	}
	return decoded
}

// decode decodes manifests into Kubernetes's types. Fields and kinds that these
// do not know, and keys that come twice, are errors.
func decode(manifests []byte) (objects, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var all objects
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(manifests)))
	for buffer := make([]byte, len(manifests)+1); ; {
		n, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		object, _, err := strict.Decode(buffer[:n], nil, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
}

// each returns the objects of one type.
func each[T runtime.Object](all objects) []T {
	var some []T
	for _, object := range all {
		if o, ok := object.(T); ok {
			some = append(some, o)
		}
	}
	return some
}

// byName returns the object of one type with that name.
func byName[T interface {
	runtime.Object
	metav1.Object
}](t *testing.T, all objects, name string) T {
	t.Helper()
	for _, object := range each[T](all) {
		if object.GetName() == name {
			return object
		}
	}
	var none T
	t.Fatalf("there is no %T %s", none, name)
	return none
}

// workload is something that makes pods.
type workload struct {
	name, namespace string
	template        corev1.PodTemplateSpec
	claims          []corev1.PersistentVolumeClaim
}

func workloads(all objects) []workload {
	var found []workload
	for _, object := range all {
		switch o := object.(type) {
		case *appsv1.StatefulSet:
			found = append(found, workload{o.Name, o.Namespace, o.Spec.Template, o.Spec.VolumeClaimTemplates})
		case *appsv1.Deployment:
			found = append(found, workload{o.Name, o.Namespace, o.Spec.Template, nil})
		case *batchv1.Job:
			found = append(found, workload{o.Name, o.Namespace, o.Spec.Template, nil})
		}
	}
	return found
}
