package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPage: the page's table has each variant, and what it and the heads of
// the kustomizations apply exists.
func TestPage(t *testing.T) {
	t.Parallel()
	text := page(t)
	for _, variant := range variants {
		if !strings.Contains(text, "| `"+variant+"` |") {
			t.Errorf("the page's table lacks %s", variant)
		}
		head, err := os.ReadFile(filepath.Join("..", variant, "kustomization.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(head), "-k examples/kubernetes/"+variant+"\n") {
			t.Errorf("the head of %s does not say how to apply it", variant)
		}
	}
	for _, match := range regexp.MustCompile(`-k examples/kubernetes/([a-z/-]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(variants, match[1]) {
			t.Errorf("the page applies %s, which there is not", match[1])
		}
	}
}

// TestOwnOverlay builds the overlay that the page shows, on each variant.
func TestOwnOverlay(t *testing.T) {
	t.Parallel()
	_, overlay, _ := strings.Cut(page(t), "```yaml\n")
	overlay, _, _ = strings.Cut(overlay, "```")
	for _, variant := range variants {
		dir := withSecrets(t, variant)
		own := filepath.Join(dir, "my-garm")
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(overlay, "../examples/kubernetes/base", "../"+variant, 1)
		if err := os.WriteFile(filepath.Join(own, "kustomization.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all := build(t, dir, "my-garm")
		for _, w := range workloads(all) {
			for _, c := range slices.Concat(w.template.Spec.InitContainers, w.template.Spec.Containers) {
				if strings.HasPrefix(c.Image, "garm-entrypoint") {
					t.Errorf("%s, %s: the image is %s", variant, c.Name, c.Image)
				}
			}
			if w.namespace != "garm" {
				t.Errorf("%s: %s is in the namespace %q", variant, w.name, w.namespace)
			}
			checkReferences(t, all, w)
		}
		settings := slices.DeleteFunc(each[*corev1.ConfigMap](all), func(m *corev1.ConfigMap) bool { return m.Name == "garm-provision" })
		if len(settings) != 1 || settings[0].Data["GARM_BASE_URL"] != "https://garm.example.com" {
			t.Errorf("%s: the settings are %v", variant, settings)
		}
		byName[*appsv1.StatefulSet](t, all, "garm")
	}
}

// TestChangeIsARestart: another secret or setting is another pod, so applying it
// restarts garm.
func TestChangeIsARestart(t *testing.T) {
	t.Parallel()
	dir := withSecrets(t, "base")
	pods := map[string]bool{}
	pod := func() {
		template := byName[*appsv1.StatefulSet](t, build(t, dir, "base"), "garm").Spec.Template
		pods[template.String()] = true
	}
	pod()
	for _, file := range []string{"secret/password", "secret/config.toml", "settings.env"} {
		path := filepath.Join(dir, "base", file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, "\n# more\nGARM_LOG_LEVEL=debug\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		pod()
	}
	if len(pods) != 4 {
		t.Errorf("three changes made %d pods of four", len(pods))
	}
}
