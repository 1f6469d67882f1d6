package test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// provisionVariant is the overlay whose forge, repository and pool stand in files.
const provisionVariant = "overlays/provision"

// forgeToken stands for the token that people put there.
const forgeToken = "canary-token-of-the-forge"

// prepareProvision is what the overlay's head tells people to do: write the token, and take the comment signs from the provider
// and from what garm needs for webhooks. The image has no provider for Kubernetes: any program does for one that is never asked for a machine.
func prepareProvision(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, provisionVariant, "secret/gitea-token"), []byte(forgeToken), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "base/secret/config.toml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	before, provider, ok := strings.Cut(string(text), "#[[provider]]")
	if !ok || !strings.Contains(before, "#enable_webhook_management") {
		t.Fatalf("make-secret.sh writes neither a provider nor the webhooks as a comment:\n%s", text)
	}
	provider = strings.NewReplacer("\n#", "\n", "/opt/garm/providers.d/garm-provider-k8s", "/bin/busybox",
		"/run/secrets/garm-config/provider-k8s.yaml", "/run/secrets/garm-config/config.toml").Replace(provider)
	whole := strings.Replace(before, "#enable_webhook_management", "enable_webhook_management", 1) + "[[provider]]" + provider
	if err := os.WriteFile(config, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProvision: what the files declare is on the server, a changed ConfigMap is in force without a restart, and the token is nowhere to be
// seen. The forge that the example names cannot be reached: that is said, and everything else is applied.
func TestProvision(t *testing.T) {
	t.Parallel()
	needEngine(t)
	c := apply(t, build(t, withSecrets(t, provisionVariant), provisionVariant))
	p := c.startPod("garm")
	p.waitReady()
	logged := func(text string) {
		t.Helper()
		eventually(t, 2*time.Minute, text, func() bool { return strings.Contains(p.log("garm"), text) })
	}
	logged(`object="pool small of repository acme/web"`)
	logged(`cannot provision webhook of repository acme/web`)
	if got := p.exec("garm", "garm-cli", "pool", "list", "--all"); got.Code != 0 || !strings.Contains(got.Stdout, "runner:24.04") {
		t.Errorf("the pools: exit code %d: %s%s", got.Code, got.Stdout, got.Stderr)
	}
	files := bytesOf(byName[*corev1.ConfigMap](t, c.objects, "garm-provision"))
	files["forge.toml"] = bytes.Replace(files["forge.toml"], []byte("max_runners = 5"), []byte("max_runners = 4"), 1)
	p.fill(p.volumes["provision"], "..2026_12_02", files, nil)
	logged(`max_runners="5 → 4"`)
	if strings.Contains(p.log("garm"), forgeToken) {
		t.Error("the log shows the token")
	}
}
