package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// login logs in as the admin of the Secret, by the Service's address, and returns the controller's id.
func (s *space) login(scheme string) string {
	s.t.Helper()
	var id string
	eventually(s.t, 10*time.Second, "a login by the Service", func() (err error) {
		id, err = s.tryLogin(scheme + "://" + s.serviceAddress())
		return err
	})
	return id
}

// serviceAddress is what kube-proxy leads to the pod.
func (s *space) serviceAddress() string {
	s.t.Helper()
	return s.sh("kubectl get service -n garm garm -o jsonpath={.spec.clusterIP}:{.spec.ports[0].port}")
}

func (s *space) tryLogin(server string) (string, error) {
	var session struct {
		Token string `json:"token"`
	}
	credentials, err := json.Marshal(map[string]string{"username": s.secret("username"), "password": s.secret("password")})
	if err != nil {
		return "", err
	}
	if err := call(server+"/api/v1/auth/login", "", credentials, &session); err != nil {
		return "", err
	}
	var controller struct {
		ID string `json:"controller_id"`
	}
	if err := call(server+"/api/v1/controller-info", session.Token, nil, &controller); err != nil {
		return "", err
	}
	return controller.ID, nil
}

// secret returns the content of a file that make-secret.sh made.
func (s *space) secret(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "examples/kubernetes/base/secret", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// call asks garm, with any certificate.
func call(url, token string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // self-signed
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", url, response.Status, answer)
	}
	return json.Unmarshal(answer, into)
}
