package test

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// waitReady does what a kubelet does until it calls the pod ready: the startup
// probe until it succeeds, within its budget, then the readiness probe. Then the
// liveness probe must succeed as well. It only looks more often.
func (p *pod) waitReady() {
	p.t.Helper()
	for _, c := range p.spec.Containers {
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe} {
			if probe == nil {
				continue
			}
			var last error
			eventually(p.t, budget(probe), "a probe of "+c.Name, func() bool {
				if last = p.probe(c, probe); last != nil {
					p.mustRun(c.Name)
				}
				return last == nil
			})
		}
		if c.LivenessProbe != nil {
			if err := p.probe(c, c.LivenessProbe); err != nil {
				p.t.Fatalf("%s is ready, but not alive: %v", c.Name, err)
			}
		}
	}
}

// budget is how long a probe may fail until a kubelet gives up.
func budget(probe *corev1.Probe) time.Duration {
	return time.Duration(cmp.Or(probe.FailureThreshold, 3)*cmp.Or(probe.PeriodSeconds, 10)) * time.Second
}

func (p *pod) mustRun(container string) {
	p.t.Helper()
	if state := mustDocker(p.t, "container", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", p.containers[container]); state != "running 0" {
		p.t.Fatalf("%s is %s instead of ready", container, state)
	}
}

// probe asks once, for as long as the probe's timeout allows.
func (p *pod) probe(c corev1.Container, probe *corev1.Probe) error {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(cmp.Or(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.Exec != nil:
		out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", p.containers[c.Name]}, probe.Exec.Command...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case probe.HTTPGet != nil:
		return p.httpGet(ctx, c, probe.HTTPGet)
	}
	p.t.Fatalf("%s has a probe that this runner does not know", c.Name)
	return nil
}

// httpGet asks the pod's address from the host. A kubelet takes any certificate
// and any status from 200 to 399.
func (p *pod) httpGet(ctx context.Context, c corev1.Container, get *corev1.HTTPGetAction) error {
	p.t.Helper()
	port := get.Port.IntVal
	for _, named := range c.Ports {
		if named.Name == get.Port.StrVal {
			port = named.ContainerPort
		}
	}
	scheme := "http"
	if get.Scheme == corev1.URISchemeHTTPS {
		scheme = "https"
	}
	url := scheme + "://" + net.JoinHostPort(p.address(), strconv.Itoa(int(port))) + get.Path
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // as a kubelet
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
