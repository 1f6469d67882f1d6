package test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// controller is what garm says of itself.
type controller struct {
	ID          string `json:"controller_id"`
	MetadataURL string `json:"metadata_url"`
	CallbackURL string `json:"callback_url"`
	WebhookURL  string `json:"webhook_url"`
}

// secretNamed returns the data of the Secret with that name before its hash.
func secretNamed(t *testing.T, all objects, name string) map[string][]byte {
	t.Helper()
	for _, secret := range each[*corev1.Secret](all) {
		if len(secret.Name) > len(name) && secret.Name[:len(name)+1] == name+"-" {
			return secret.Data
		}
	}
	t.Fatalf("there is no Secret %s", name)
	return nil
}

// login logs in to the pod's garm with these credentials, and returns what garm
// then says of itself. With a certificate it speaks https to the name garm.
func (p *pod) login(user, password string, certificate []byte) (controller, error) {
	p.t.Helper()
	address := net.JoinHostPort(p.address(), "9997")
	base, transport := "http://garm:9997", &http.Transport{DisableKeepAlives: true}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if certificate != nil {
		base = "https://garm:9997"
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(certificate)
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	body, err := json.Marshal(map[string]string{"username": user, "password": password})
	if err != nil {
		return controller{}, err
	}
	var token struct {
		Token string `json:"token"`
	}
	if err := call(client, http.MethodPost, base+"/api/v1/auth/login", "", body, &token); err != nil {
		return controller{}, err
	}
	var got controller
	err = call(client, http.MethodGet, base+"/api/v1/controller", token.Token, nil, &got)
	return got, err
}

func call(client *http.Client, method, url, token string, body []byte, answer any) error {
	request, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, text)
	}
	return json.Unmarshal(text, answer)
}
