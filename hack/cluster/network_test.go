package cluster

import (
	"strings"
	"testing"
	"time"
)

// TestNetwork shows what one node without an enforcing network plugin can show: the Service's name and address lead to
// garm for another pod under the restricted standard, only while the pod is ready; the NetworkPolicy is accepted and
// selects it. That the policy keeps anybody out cannot be seen here.
func TestNetwork(t *testing.T) {
	s := newSpace(t, "garm-network")
	s.typeHead("base").nth(t, 1)
	s.login("http")

	out := s.sh(`kubectl run client -n garm --image=garm-entrypoint:local --restart=Never --overrides='{"spec":{
  "automountServiceAccountToken":false, "enableServiceLinks":false,
  "securityContext":{"runAsNonRoot":true,"runAsUser":65532,"seccompProfile":{"type":"RuntimeDefault"}},
  "containers":[{"name":"client","image":"garm-entrypoint:local","args":["healthcheck","--server","http://garm:9997"],
    "securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}'
kubectl wait -n garm --for=jsonpath={.status.phase}=Succeeded --timeout=60s pod/client`)
	if strings.Contains(out, "Warning") {
		t.Errorf("the client's pod is refused: %s", out)
	}

	pod := s.sh("kubectl get pod -n garm garm-0 -o jsonpath={.status.podIP}")
	if endpoint := s.endpoint(); endpoint != pod+" true" {
		t.Errorf("the Service leads to %q instead of %s, ready", endpoint, pod)
	}
	policy := s.sh("kubectl get networkpolicy -n garm garm -o jsonpath={.spec.podSelector.matchLabels}")
	if !strings.Contains(policy, `"app.kubernetes.io/name":"garm"`) ||
		s.sh("kubectl get pods -n garm -o name -l app.kubernetes.io/name=garm") != "pod/garm-0" {
		t.Errorf("the NetworkPolicy's selector is %s", policy)
	}
	t.Log("not shown: that the NetworkPolicy keeps anybody out, since no network plugin here enforces one")
}

// endpoint is where the Service leads, and whether it is ready.
func (s *space) endpoint() string {
	s.t.Helper()
	return s.sh("kubectl get endpointslices -n garm -l kubernetes.io/service-name=garm " +
		`-o 'jsonpath={.items[0].endpoints[0].addresses[0]} {.items[0].endpoints[0].conditions.ready}'`)
}

// TestOperator applies the operator's overlay where its release has made its account and certificate. Its image cannot
// be had: what is seen is garm's pod, and that the operator's own pod waits for garm and then goes on to that image.
func TestOperator(t *testing.T) {
	s := newSpace(t, "garm-operator-system")
	s.ready()
	pods := s.watchPods()
	s.sh("kubectl create serviceaccount -n garm garm-operator-controller-manager")
	s.writeCertificate()
	s.sh("kubectl create secret tls -n garm webhook-server-cert --cert=tls.crt --key=tls.key")
	s.sh("kubectl apply -k examples/kubernetes/overlays/operator")
	pods.nth(t, 1)
	s.login("http")
	eventually(t, time.Minute, "the operator's pod to have waited for garm", func() error {
		if code := s.sh("kubectl get pods -n garm -l control-plane=controller-manager " +
			"-o jsonpath={.items[0].status.initContainerStatuses[0].state.terminated.exitCode}"); code != "0" {
			return errNotReady
		}
		return nil
	})
	t.Log("not shown: the operator itself, whose image cannot be had")
}
