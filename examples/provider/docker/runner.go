package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cloudbase/garm-provider-common/params"
)

const (
	runnerProgram = "act_runner"
	// attempts at what may fail for a while: garm that is being restarted, a forge that is. In all about a minute and a
	// half.
	attempts = 10
	callTime = 30 * time.Second
)

// runnerConfig is act_runner's: asked to end, it lets the job end first.
const runnerConfig = "runner:\n  shutdown_timeout: 3h\n"

// agent is what runs in a runner's container before act_runner does.
type agent struct {
	params.BootstrapInstance
	dir   string
	http  *http.Client
	pause time.Duration // after the first failed attempt; it grows
}

// bootstrap registers the runner and becomes it. It only returns when it cannot; garm has been told then.
func bootstrap(ctx context.Context, dir string) error {
	a, err := readBootstrap(dir)
	if err != nil {
		return err
	}
	program, argv, env, err := a.register(ctx)
	if err != nil {
		return errors.Join(err, a.report(ctx, "failed", err.Error(), nil))
	}
	return fmt.Errorf("cannot run %s: %w", program, syscall.Exec(program, argv, env))
}

// readBootstrap takes what the provider left, and removes it: the job need not see it.
func readBootstrap(dir string) (*agent, error) {
	path := filepath.Join(dir, bootstrapFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("this runner has run already, and runs once: %w", err)
	}
	if err != nil {
		return nil, err
	}
	a := &agent{dir: dir, pause: time.Second}
	if err := json.Unmarshal(data, &a.BootstrapInstance); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	a.http, err = clientTrusting(a.CACertBundle)
	return a, err
}

// clientTrusting trusts the system's roots and the controller's bundle.
func clientTrusting(bundle []byte) (*http.Client, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if len(bundle) > 0 && !roots.AppendCertsFromPEM(bundle) {
		return nil, errors.New("cannot use the controller's CA bundle: it holds no certificate")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	return &http.Client{Transport: transport, Timeout: callTime}, nil
}

// register makes the runner known to the forge and to garm, and returns what to run then.
func (a *agent) register(ctx context.Context) (program string, argv, env []string, err error) {
	program, err = exec.LookPath(runnerProgram)
	if err != nil {
		return "", nil, nil, fmt.Errorf("image %s has no %s in its PATH", a.Image, runnerProgram)
	}
	if err := a.report(ctx, "installing", "registering at the forge", nil); err != nil {
		return "", nil, nil, err
	}
	token, err := a.metadata(ctx, "runner-registration-token/")
	if err != nil {
		return "", nil, nil, err
	}
	if env, err = a.environment(); err != nil {
		return "", nil, nil, err
	}
	err = a.again(ctx, func() error {
		command := exec.CommandContext(ctx, program, "register", "--no-interactive", "--ephemeral", "--instance", a.RepoURL, "--token", token,
			"--name", a.Name, "--labels", strings.Join(a.Labels, ","))
		command.Dir, command.Env = a.dir, env
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("cannot register: %w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	})
	if err != nil {
		return "", nil, nil, err
	}
	id, err := registeredID(filepath.Join(a.dir, ".runner"))
	if err != nil {
		return "", nil, nil, err
	}
	config := filepath.Join(a.dir, "config.yaml")
	if err := os.WriteFile(config, []byte(runnerConfig), 0o600); err != nil {
		return "", nil, nil, err
	}
	return program, []string{runnerProgram, "daemon", "--config", config}, env, a.report(ctx, "idle", "waiting for a job", &id)
}

// registeredID is the runner's number at the forge, as act_runner notes it.
func registeredID(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var registered struct{ ID int64 }
	if err := json.Unmarshal(data, &registered); err != nil || registered.ID == 0 {
		return 0, fmt.Errorf("cannot find the runner's id in %s: %v", path, err)
	}
	return registered.ID, nil
}

// environment is ours. With a CA bundle of the controller's, act_runner, a Go program, trusts that and the image's own.
func (a *agent) environment() ([]string, error) {
	if len(a.CACertBundle) == 0 {
		return os.Environ(), nil
	}
	system, _ := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	bundle := filepath.Join(a.dir, "ca.pem")
	if err := os.WriteFile(bundle, append(append(system, '\n'), a.CACertBundle...), 0o644); err != nil {
		return nil, err
	}
	return append(os.Environ(), "SSL_CERT_FILE="+bundle), nil
}

// report tells garm how far the runner is.
func (a *agent) report(ctx context.Context, status, message string, id *int64) error {
	body, err := json.Marshal(map[string]any{"status": status, "message": message, "agent_id": id})
	if err != nil {
		return err
	}
	url := strings.TrimSuffix(strings.TrimSuffix(a.CallbackURL, "/"), "/status") + "/status"
	_, err = a.call(ctx, http.MethodPost, url, body)
	return err
}

// metadata asks garm for something.
func (a *agent) metadata(ctx context.Context, path string) (string, error) {
	data, err := a.call(ctx, http.MethodGet, strings.TrimSuffix(a.MetadataURL, "/")+"/"+path, nil)
	return strings.TrimSpace(string(data)), err
}

func (a *agent) call(ctx context.Context, method, url string, body []byte) (data []byte, err error) {
	err = a.again(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+a.InstanceToken)
		request.Header.Set("Accept", "application/json")
		answer, err := a.http.Do(request)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if data, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20)); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("cannot %s %s: %s", method, url, answer.Status)
		}
		return nil
	})
	return data, err
}

// again tries something, with growing pauses, until it works or was tried often enough.
func (a *agent) again(ctx context.Context, try func() error) error {
	pause := a.pause
	for left := attempts; ; left-- {
		err := try()
		if err == nil || left == 1 {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
		pause = min(2*pause, 15*a.pause)
	}
}
