package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestTLSWithoutUseTLS applies overlays/tls to a config.toml that has garm serve plain HTTP. The pod is never ready,
// and the cluster says why. make-secret.sh says how to mend it; then it is ready, with the secrets as they were.
func TestTLSWithoutUseTLS(t *testing.T) {
	s := newSpace(t, "garm-plain")
	s.writeCertificate()
	s.ready()
	s.sh("cp tls.crt tls.key examples/kubernetes/overlays/tls/secret/")
	pods := s.watchPods()
	s.sh("kubectl apply -n garm -k examples/kubernetes/overlays/tls")
	eventually(t, time.Minute, "the cluster to say why the pod is not ready", func() error {
		out := s.sh("kubectl get events -n garm --field-selector reason=Unhealthy -o jsonpath={.items[*].message}")
		if !strings.Contains(out, "the server speaks plain HTTP") || !strings.Contains(out, "use_tls = true") {
			return fmt.Errorf("the events say %q", out)
		}
		return nil
	})
	if ready := s.sh("kubectl get pod -n garm garm-0 -o jsonpath={.status.containerStatuses[0].ready}"); ready != "false" {
		t.Errorf("ready is %q: a garm without HTTPS counts as ready", ready)
	}

	out, err := s.try("examples/kubernetes/make-secret.sh --tls")
	if err == nil || !strings.Contains(out, "use_tls = true") {
		t.Errorf("make-secret.sh --tls on existing files: %v: %s", err, out)
	}
	s.edit("base/secret/config.toml", func(text string) string { return strings.Replace(text, "use_tls = false", "use_tls = true", 1) })
	s.sh("kubectl apply -n garm -k examples/kubernetes/overlays/tls")
	s.sh("kubectl delete pod -n garm garm-0") // a pod that never became ready is not replaced by itself
	pods.nth(t, 2)
	s.login("https")
}
