package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// startTimeout is the default of GARM_START_TIMEOUT.
const startTimeout = 5 * time.Minute

// TestEveryFileIsUsed: a patch or a resource that no kustomization names would
// be dead text, and an overlay that is not in variants would not be tested.
func TestEveryFileIsUsed(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir("..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "../test" || entry.Name() == "secret"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".yaml" || entry.Name() == "kustomization.yaml":
			return nil
		}
		beside, err := os.ReadFile(filepath.Join(filepath.Dir(path), "kustomization.yaml"))
		if !regexp.MustCompile(`(?m)^  - (path: )?` + regexp.QuoteMeta(entry.Name()) + "$").Match(beside) {
			t.Errorf("the kustomization beside it does not name %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	overlays, err := filepath.Glob("../overlays/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, overlay := range overlays {
		if !slices.Contains(variants, strings.TrimPrefix(overlay, "../")) {
			t.Errorf("%s is not tested", overlay)
		}
	}
}

// TestStrict makes sure that decode is as strict as the others here rely on.
func TestStrict(t *testing.T) {
	t.Parallel()
	for name, manifest := range map[string]string{
		"unknown field": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 1, targetport: 2}]}\n",
		"twice":         "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, type: ClusterIP}\n",
		"unknown kind":  "apiVersion: v1\nkind: Servise\nmetadata: {name: a}\n",
		"wrong type":    "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: http}]}\n",
	} {
		if _, err := decode([]byte(manifest)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestRestricted holds every pod against the restricted Pod Security Standard,
// in its newest version.
func TestRestricted(t *testing.T) {
	t.Parallel()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, variant := range variants {
		for _, w := range workloads(build(t, withSecrets(t, variant), variant)) {
			results := evaluator.EvaluatePod(level, &w.template.ObjectMeta, &w.template.Spec)
			if len(results) == 0 {
				t.Errorf("%s, %s: nothing was checked", variant, w.name)
			}
			for _, result := range results {
				if !result.Allowed {
					t.Errorf("%s, %s: %s: %s", variant, w.name, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	}
}

// TestPods holds what every pod must have beyond the standard.
func TestPods(t *testing.T) {
	t.Parallel()
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			all := build(t, withSecrets(t, variant), variant)
			for _, w := range workloads(all) {
				spec := w.template.Spec
				if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
					t.Errorf("%s gets a variable for each Service, such as GARM_PORT", w.name)
				}
				for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
					checkContainer(t, w.name, c)
				}
				checkReferences(t, all, w)
			}
		})
	}
}

// operatorContainer is the one that cannot take its credentials from files.
const operatorContainer = "manager"

func checkContainer(t *testing.T, workload string, c corev1.Container) {
	t.Helper()
	ours := c.Name != operatorContainer
	for _, v := range c.Env {
		if ours && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
			t.Errorf("%s, %s: %s comes from a Secret as a variable", workload, c.Name, v.Name)
		}
	}
	if ours && (c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem) {
		t.Errorf("%s, %s: the root file system can be written to", workload, c.Name)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s, %s: no memory is asked for, or it has no limit", workload, c.Name)
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		// The health check needs up to 4 s to say why it fails.
		if ours && probe != nil && probe.TimeoutSeconds < 5 {
			t.Errorf("%s, %s: a probe's timeout is %d s", workload, c.Name, probe.TimeoutSeconds)
		}
	}
	if probe := c.StartupProbe; probe != nil {
		// What it says first decides how soon the pod is ready; then it is never asked again.
		if probe.PeriodSeconds != 1 {
			t.Errorf("%s, %s: the startup probe looks every %d s", workload, c.Name, probe.PeriodSeconds)
		}
		if budget := time.Duration(probe.PeriodSeconds*probe.FailureThreshold) * time.Second; budget <= startTimeout {
			t.Errorf("%s, %s: the startup probe gives up after %v, GARM_START_TIMEOUT is %v", workload, c.Name, budget, startTimeout)
		}
	}
}

// checkReferences wants everything that a pod names: in this build, or made by
// the operator's release.
func checkReferences(t *testing.T, all objects, w workload) {
	t.Helper()
	secret := func(name string) {
		if name != foreignSecret {
			byName[*corev1.Secret](t, all, name)
		}
	}
	volumes := map[string]bool{}
	for _, v := range w.template.Spec.Volumes {
		volumes[v.Name] = false
		if v.Secret != nil {
			secret(v.Secret.SecretName)
		}
		if v.ConfigMap != nil {
			byName[*corev1.ConfigMap](t, all, v.ConfigMap.Name)
		}
	}
	for _, claim := range w.claims {
		volumes[claim.Name] = false
	}
	for _, c := range slices.Concat(w.template.Spec.InitContainers, w.template.Spec.Containers) {
		for _, mount := range c.VolumeMounts {
			if _, ok := volumes[mount.Name]; !ok {
				t.Errorf("%s, %s mounts %s, which there is not", w.name, c.Name, mount.Name)
			}
			volumes[mount.Name] = true
		}
		for _, from := range c.EnvFrom {
			byName[*corev1.ConfigMap](t, all, from.ConfigMapRef.Name)
		}
		for _, v := range c.Env {
			if v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
				secret(v.ValueFrom.SecretKeyRef.Name)
			}
		}
	}
	for name, used := range volumes {
		if !used {
			t.Errorf("%s has the volume %s and no container mounts it", w.name, name)
		}
	}
}

// TestServer holds the StatefulSet of each variant, its Service and its policy
// against each other.
func TestServer(t *testing.T) {
	t.Parallel()
	for _, variant := range variants {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			all := build(t, withSecrets(t, variant), variant)
			set := byName[*appsv1.StatefulSet](t, all, "garm")
			spec := set.Spec.Template.Spec
			if *set.Spec.Replicas != 1 {
				t.Errorf("%d replicas on one sqlite file", *set.Spec.Replicas)
			}
			if spec.TerminationGracePeriodSeconds == nil || *spec.TerminationGracePeriodSeconds != 150 {
				t.Error("the grace period is not 150 s")
			}
			if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
				t.Error("the pod gets a token of the cluster's API")
			}
			for _, c := range spec.Containers {
				if c.Name == "garm" && (c.StartupProbe == nil || c.ReadinessProbe == nil || c.LivenessProbe == nil) {
					t.Error("a probe is missing")
				}
			}
			service := byName[*corev1.Service](t, all, "garm")
			if set.Spec.ServiceName != service.Name {
				t.Errorf("the Service's name is %s, the StatefulSet says %s", service.Name, set.Spec.ServiceName)
			}
			rule := byName[*networkingv1.NetworkPolicy](t, all, "garm")
			selector, err := metav1.LabelSelectorAsSelector(&rule.Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			if !selector.Matches(labels.Set(set.Spec.Template.Labels)) {
				t.Error("the NetworkPolicy does not select garm's pod")
			}
			for _, w := range workloads(all) {
				selected := labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(w.template.Labels))
				if selected != (w.name == "garm") {
					t.Errorf("the Service selects %s: %v", w.name, selected)
				}
			}
			servicePort(t, service, spec)
		})
	}
}

// TestJobEnds: what no second try cures fails the Job at once.
func TestJobEnds(t *testing.T) {
	t.Parallel()
	job := byName[*batchv1.Job](t, build(t, withSecrets(t, "overlays/job"), "overlays/job"), "garm-init")
	rule := job.Spec.PodFailurePolicy.Rules[0]
	if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Error("a podFailurePolicy needs restartPolicy Never")
	}
	if rule.OnExitCodes == nil || *rule.OnExitCodes.ContainerName != job.Spec.Template.Spec.Containers[0].Name {
		t.Error("the rule names another container")
	}
}

// TestNoSecretIsShipped: as they are in git, the examples cannot be applied, and
// the error names what is missing.
func TestNoSecretIsShipped(t *testing.T) {
	t.Parallel()
	dir := examples(t)
	for _, variant := range variants {
		if _, err := kustomize(filepath.Join(dir, variant)); err == nil || !strings.Contains(err.Error(), "secret/") {
			t.Errorf("%s without secrets: %v", variant, err)
		}
	}
	if out, err := exec.Command("git", "ls-files", "..").Output(); err != nil {
		t.Logf("not in a git work tree: %v", err)
	} else {
		for _, file := range strings.Fields(string(out)) {
			if strings.Contains(file, "/secret/") && filepath.Base(file) != ".gitignore" {
				t.Errorf("%s is in git", file)
			}
		}
	}
}

// TestMakeSecret: the files are private, differ from run to run, hold no line
// ends, and are never overwritten.
func TestMakeSecret(t *testing.T) {
	t.Parallel()
	read := func(dir, name string) string {
		data, err := os.ReadFile(filepath.Join(dir, "base/secret", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	one, other := withSecrets(t, "base"), withSecrets(t, "base")
	for _, name := range []string{"username", "email", "password", "config.toml"} {
		info, err := os.Stat(filepath.Join(one, "base/secret", name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		if text := read(one, name); name != "config.toml" && (text == "" || strings.TrimSpace(text) != text) {
			t.Errorf("%s is %q", name, text)
		}
	}
	value := func(dir, key string) string {
		match := regexp.MustCompile(`(?m)^` + key + ` = "([A-Za-z0-9]*)"$`).FindStringSubmatch(read(dir, "config.toml"))
		if match == nil {
			t.Fatalf("config.toml has no %s", key)
		}
		return match[1]
	}
	for key, length := range map[string]int{"secret": 43, "passphrase": 32} {
		if len(value(one, key)) != length || value(one, key) == value(other, key) {
			t.Errorf("%s: %d characters, want %d and others each time", key, len(value(one, key)), length)
		}
	}
	if p := read(one, "password"); len(p) != 32 || p == read(other, "password") {
		t.Errorf("the password has %d characters, want 32 and others each time", len(p))
	}
	before := read(one, "config.toml")
	out, err := exec.Command(filepath.Join(one, "make-secret.sh")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it exists") || read(one, "config.toml") != before {
		t.Errorf("a second run: %v: %s", err, out)
	}
	// Told to serve HTTPS with files that are there, it says what these must hold: what it would have written itself.
	out, err = exec.Command(filepath.Join(one, "make-secret.sh"), "--tls").CombinedOutput()
	if err == nil || read(one, "config.toml") != before {
		t.Errorf("a second run with --tls: %v: %s", err, out)
	}
	_, lines, _ := strings.Cut(string(out), "apply overlays/tls\n")
	fresh := read(withSecrets(t, "overlays/tls"), "config.toml")
	if lines == "" {
		t.Errorf("a second run with --tls does not say how to get there: %s", out)
	}
	for line := range strings.Lines(lines) {
		if !strings.Contains(fresh, line) {
			t.Errorf("a second run with --tls wants %q, which a first one does not write", line)
		}
	}
}

// TestTLSAsksForHTTPS: a garm that serves plain HTTP must not get through the start of overlays/tls.
func TestTLSAsksForHTTPS(t *testing.T) {
	t.Parallel()
	for _, c := range byName[*appsv1.StatefulSet](t, build(t, withSecrets(t, "overlays/tls"), "overlays/tls"), "garm").Spec.Template.Spec.Containers {
		if c.StartupProbe.Exec == nil || !slices.Contains(c.StartupProbe.Exec.Command, "https://127.0.0.1:9997") {
			t.Errorf("the startup probe of %s does not ask for HTTPS", c.Name)
		}
	}
}

// TestPins holds the garm of the plain image against go.mod's.
func TestPins(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	pin := regexp.MustCompile(`(?m)^\s*github\.com/cloudbase/garm (v\S+)`).FindSubmatch(mod)
	if pin == nil {
		t.Fatal("go.mod does not pin garm")
	}
	all := build(t, withSecrets(t, "overlays/sidecar"), "overlays/sidecar")
	for _, c := range byName[*appsv1.StatefulSet](t, all, "garm").Spec.Template.Spec.Containers {
		if want := plainImage + ":" + string(pin[1]); c.Name == "garm" && c.Image != want {
			t.Errorf("the plain image is %s, want %s", c.Image, want)
		}
	}
}
