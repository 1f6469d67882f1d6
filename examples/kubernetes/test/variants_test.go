package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestVariants runs each variant as it stands: the pod becomes ready, the
// Secret's credentials log in and the URLs are set; it stops within its grace
// period with garm's 0; and a new pod on the same claim is the same server.
func TestVariants(t *testing.T) {
	t.Parallel()
	needEngine(t)
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			all := build(t, withSecrets(t, variant), variant)
			c := apply(t, all)
			first := lifetime(c)
			if second := lifetime(c); first.ID == "" || second != first {
				t.Errorf("after a restart the controller is %+v, was %+v", second, first)
			}
		})
	}
}

// lifetime starts the variant's pods, checks garm and stops it.
func lifetime(c *cluster) controller {
	c.t.Helper()
	p := c.startPod("garm")
	p.waitReady()
	c.others()
	got := p.check()
	codes, took := p.stop()
	for name, code := range codes {
		if want := map[string]string{"garm": "0", "watch": "143"}[name]; code != want {
			c.t.Errorf("%s ended with %s, want %s", name, code, want)
		}
	}
	if took > 30*time.Second {
		c.t.Errorf("an idle garm stopped after %v", took)
	}
	p.remove()
	return got
}

// others runs what a variant has beside garm's own pod: a Job to its end, of the
// operator's pod the init container. The operator itself cannot be had here.
func (c *cluster) others() {
	c.t.Helper()
	for _, w := range workloads(c.objects) {
		if w.name == "garm" {
			continue
		}
		p := c.newPod(w.name)
		p.runInit()
		for _, container := range p.spec.Containers {
			if container.Name == operatorContainer {
				c.checkOperator(p)
				continue
			}
			if code := p.runToEnd(container); code != 0 {
				c.t.Errorf("%s ended with %d", w.name, code)
			}
		}
		p.remove()
	}
}

// check logs in with the Secret's credentials, and wants the URLs that are asked
// for.
func (p *pod) check() controller {
	p.t.Helper()
	var certificate []byte
	scheme := "http"
	if _, ok := p.volumes["tls"]; ok {
		scheme, certificate = "https", secretNamed(p.t, p.cluster.objects, "garm-tls")["tls.crt"]
	}
	admin := secretNamed(p.t, p.cluster.objects, "garm-admin")
	got, err := p.login(string(admin["username"]), string(admin["password"]), certificate)
	if err != nil {
		p.t.Fatalf("the Secret's credentials do not log in: %v", err)
	}
	if base := scheme + "://garm:9997"; got.MetadataURL != base+"/api/v1/metadata" || got.CallbackURL != base+"/api/v1/callbacks" || got.WebhookURL != base+"/webhooks" {
		p.t.Errorf("the controller's URLs are %+v", got)
	}
	return got
}

// checkOperator: what the operator gets as variables is what garm takes.
func (c *cluster) checkOperator(p *pod) {
	c.t.Helper()
	variables := map[string]string{}
	for _, v := range p.environment(p.container(operatorContainer)) {
		name, value, _ := strings.Cut(v, "=")
		variables[name] = value
	}
	admin := secretNamed(c.t, c.objects, "garm-admin")
	if variables["GARM_SERVER"] != "http://garm:9997" || variables["OPERATOR_WATCH_NAMESPACE"] != "garm-operator-system" ||
		variables["GARM_USERNAME"] != string(admin["username"]) || variables["GARM_PASSWORD"] != string(admin["password"]) ||
		variables["GARM_EMAIL"] != string(admin["email"]) {
		c.t.Errorf("the operator gets %v", variables)
	}
}

// TestInside looks around in the pod of the base.
func TestInside(t *testing.T) {
	t.Parallel()
	needEngine(t)
	c := apply(t, build(t, withSecrets(t, "base"), "base"))
	p := c.startPod("garm")
	p.waitReady()
	if got := p.exec("garm", "garm-cli", "controller", "show"); got.Code != 0 || !strings.Contains(got.Stdout, "http://garm:9997/webhooks") {
		t.Errorf("garm-cli: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	password := string(secretNamed(t, c.objects, "garm-admin")["password"])
	for line := range strings.Lines(p.log("garm")) {
		if strings.Contains(line, password) || strings.Contains(line, "level=WARN") && strings.Contains(line, "program=garm-entrypoint") {
			t.Errorf("in the log: %s", line)
		}
	}
	if got := p.exec("garm", "find", "/etc/garm", "-name", "garm.db*", "-perm", "-004"); got.Code != 0 || got.Stdout != "" {
		t.Errorf("world-readable: %s%s", got.Stdout, got.Stderr)
	}
	for _, file := range []string{"/etc/garm/config.toml", "/etc/garm/admin-password"} {
		if p.exec("garm", "test", "-e", file).Code == 0 {
			t.Errorf("%s was made, although the Secrets have it", file)
		}
	}
	// By its Service's name, from another pod.
	if got := docker("run", "--rm", "--network", c.network, imageName, "healthcheck", "--server", "http://garm:9997"); got.Code != 0 {
		t.Errorf("the Service: %s%s", got.Stdout, got.Stderr)
	}
	if got := docker("run", "--rm", "--volume", p.volumes["config"]+":/c:ro", "--env", "GARM_CONFIG=/c/config.toml", "--env", "GARM_STATE_DIR=/tmp", imageName, "check"); got.Code != 0 {
		t.Errorf("check: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// TestLiveness: a garm that answers nobody fails its liveness probe within the
// probe's timeout, what a kubelet does then ends it within the grace period, and
// the container that it starts instead becomes ready.
func TestLiveness(t *testing.T) {
	t.Parallel()
	needEngine(t)
	p := apply(t, build(t, withSecrets(t, "base"), "base")).startPod("garm")
	p.waitReady()
	garm := p.container("garm")
	if got := p.exec("garm", "killall", "-STOP", "garm"); got.Code != 0 {
		t.Fatalf("cannot freeze garm: %s", got.Stderr)
	}
	for _, probe := range []struct {
		name string
		err  error
	}{{"liveness", p.probe(garm, garm.LivenessProbe)}, {"readiness", p.probe(garm, garm.ReadinessProbe)}} {
		if probe.err == nil || !strings.Contains(probe.err.Error(), "unhealthy: ") {
			t.Errorf("the %s probe of a frozen garm says %v", probe.name, probe.err)
		}
	}
	codes, took := p.stop()
	if codes["garm"] != "0" || took > 30*time.Second { // the entrypoint lets it go on with SIGTERM
		t.Errorf("stopped after %v with %s", took, codes["garm"])
	}
	p.start(garm)
	p.waitReady()
	p.check()
}

// TestNotReadyWithoutAdmin: the pod of the sidecar variant is not ready while
// its garm has no admin.
func TestNotReadyWithoutAdmin(t *testing.T) {
	t.Parallel()
	needEngine(t)
	c := apply(t, build(t, withSecrets(t, "overlays/sidecar"), "overlays/sidecar"))
	p := c.newPod("garm")
	garm, watch := p.container("garm"), p.container("watch")
	p.start(garm)
	eventually(t, budget(garm.StartupProbe), "garm", func() bool { return p.probe(garm, garm.ReadinessProbe) == nil })
	idle := watch
	idle.Args = []string{"sleep", "600"}
	p.start(idle)
	if err := p.probe(watch, watch.ReadinessProbe); err == nil || !strings.Contains(err.Error(), "admin") {
		t.Errorf("the readiness probe of a server without admin says %v", err)
	}
}

// TestJobRefused: credentials that do not log in end the Job with a code for
// which it is not tried again.
func TestJobRefused(t *testing.T) {
	t.Parallel()
	needEngine(t)
	dir := withSecrets(t, "overlays/job")
	c := apply(t, build(t, dir, "overlays/job"))
	p := c.startPod("garm")
	p.waitReady()
	c.others()
	if err := os.WriteFile(filepath.Join(dir, "base/secret/password"), []byte("quite another horse battery staple"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.objects = build(t, dir, "overlays/job")
	job := c.newPod("garm-init")
	if code := job.runToEnd(job.spec.Containers[0]); code != 77 {
		t.Errorf("ended with %d, want 77", code)
	}
}
