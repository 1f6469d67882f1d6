package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// startStore starts etcd, whose files are in memory.
func (n *Node) startStore(context.Context) error {
	_, err := n.launch("etcd", "--data-dir=/run/etcd",
		"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380", "--initial-cluster=default=http://127.0.0.1:2380")
	return err
}

// startAPIServer starts the API server and makes the kubeconfig.
func (n *Node) startAPIServer(ctx context.Context) error {
	n.token = rand.Text()
	tokens, err := n.write("tokens", n.token+",admin,admin,system:masters\n")
	if err != nil {
		return err
	}
	key, err := n.writeAccountKey()
	if err != nil {
		return err
	}
	if _, err := n.launch("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379",
		"--token-auth-file="+tokens, "--authorization-mode=Node,RBAC", "--cert-dir="+n.path("pki"),
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key, "--service-account-issuer=https://kubernetes.default.svc",
		"--advertise-address="+nodeAddress, "--bind-address="+nodeAddress, "--service-cluster-ip-range="+serviceRange,
		"--kubelet-preferred-address-types=InternalIP"); err != nil {
		return err
	}
	ca := n.path("pki/apiserver.crt")
	if err := n.await(ctx, "the API server's certificate", func() error { _, err := os.Stat(ca); return err }); err != nil {
		return err
	}
	if _, err := n.write("kubeconfig", fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: node, context: {cluster: node, user: admin}}]
current-context: node
`, apiServer, ca, n.token)); err != nil {
		return err
	}
	return n.await(ctx, "the API server", func() error { _, err := n.get(ctx, "/readyz"); return err })
}

// writeAccountKey makes the key that service accounts' tokens are signed with.
func (n *Node) writeAccountKey() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	return n.write("accounts.key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

// startControllers starts what makes pods of workloads, and gives them a node.
func (n *Node) startControllers(context.Context) error {
	if _, err := n.launch("kube-controller-manager", "--kubeconfig="+n.Kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1",
		"--service-account-private-key-file="+n.path("accounts.key"), "--root-ca-file="+n.path("pki/apiserver.crt")); err != nil {
		return err
	}
	_, err := n.launch("kube-scheduler", "--kubeconfig="+n.Kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1")
	return err
}

// client returns a client that knows the API server's certificate.
func (n *Node) client() (*http.Client, error) {
	pem, err := os.ReadFile(n.path("pki/apiserver.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("the API server's certificate is none")
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

// open asks the API server. The caller closes what it gets.
func (n *Node) open(ctx context.Context, path string) (io.ReadCloser, error) {
	client, err := n.client()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+n.token)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, response.Status)
	}
	return response.Body, nil
}

// get asks the API server and reads the whole answer.
func (n *Node) get(ctx context.Context, path string) ([]byte, error) {
	body, err := n.open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	return io.ReadAll(body)
}

// answers returns nil when a GET is answered with 200.
func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
