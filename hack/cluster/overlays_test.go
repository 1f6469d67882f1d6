package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// starts is how many starts of a pod make a median.
	starts = 5

	// readyWithin is what the median may be, from the pod's being made to its being ready. What is wanted is 3 s. The kubelet looks once
	// a second at its containers and at their probes, so that times are whole seconds and some tenths; a busy machine costs one of them.
	readyWithin = 3500 * time.Millisecond

	// anotherContainer is what one that must end before costs: the kubelet sees that at its next look.
	anotherContainer = time.Second
)

var errNotReady = errors.New("it is not")

// variants are all that can be applied by its own commands alone. The operator's needs the operator's release: see
// TestOperator.
func variants(t *testing.T) []string {
	t.Helper()
	heads, err := filepath.Glob("../../examples/kubernetes/overlays/*/kustomization.yaml")
	if err != nil || len(heads) == 0 {
		t.Fatalf("no overlays: %v", err)
	}
	found := []string{"base"}
	for _, head := range heads {
		if overlay := filepath.Base(filepath.Dir(head)); overlay != "operator" {
			found = append(found, "overlays/"+overlay)
		}
	}
	return found
}

var command = regexp.MustCompile(`(?m)^# {3}(\S.*)$`)

// commands are those in the head of a kustomization.
func commands(t *testing.T, variant string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../examples/kubernetes", variant, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(text), "\napiVersion:")
	var lines []string
	for _, match := range command.FindAllStringSubmatch(head, -1) {
		lines = append(lines, match[1])
	}
	if len(lines) == 0 {
		t.Fatalf("the head of %s has no commands", variant)
	}
	return lines
}

// typeHead types the commands of a kustomization's head, and before them those of base that they take for granted. It
// returns the watcher of the pod.
func (s *space) typeHead(variant string) *watcher {
	s.t.Helper()
	lines := commands(s.t, variant)
	has := func(word string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, word) })
	}
	if has("tls.crt") {
		s.writeCertificate()
	}
	if !has("make-secret.sh") {
		s.sh("examples/kubernetes/make-secret.sh")
	}
	if !has("create namespace") {
		s.sh("kubectl create namespace garm")
	}
	var pods *watcher
	for _, line := range lines {
		if strings.Contains(line, "kubectl apply") {
			s.sh("kubectl label namespace garm pod-security.kubernetes.io/enforce=restricted")
			pods = s.watchPods()
		}
		s.sh(line)
	}
	if pods == nil {
		s.t.Fatalf("the head of %s applies nothing", variant)
	}
	return pods
}

// TestOverlays applies each kustomization as its head says, waits until the pod is ready, and logs in. Then the pod is
// replaced some times: the admin and the controller stay, and each is soon ready.
func TestOverlays(t *testing.T) {
	for _, variant := range variants(t) {
		t.Run(filepath.Base(variant), func(t *testing.T) {
			s := newSpace(t, "garm-"+filepath.Base(variant))
			pods := s.typeHead(variant)
			scheme := "http"
			if variant == "overlays/tls" {
				scheme = "https"
			}
			first := pods.nth(t, 1)
			id := s.login(scheme)
			took := []time.Duration{first.ready.Sub(first.made)}
			for n := 2; n <= starts; n++ {
				s.sh("kubectl delete pod -n garm garm-0")
				next := pods.nth(t, n)
				took = append(took, next.ready.Sub(next.made))
				if again := s.login(scheme); again != id {
					t.Fatalf("after the pod was deleted, the controller is %s instead of %s", again, id)
				}
			}
			t.Logf("%s: from pod to ready %.1f s, median %.1f s", variant, seconds(took), median(took).Seconds())
			limit := readyWithin
			if s.sh("kubectl get pod -n garm garm-0 -o jsonpath={.spec.initContainers[*].name}") != "" {
				limit += anotherContainer
			}
			if median(took) > limit {
				t.Errorf("the median is above %v", limit)
			}
		})
	}
}

func seconds(durations []time.Duration) []float64 {
	var all []float64
	for _, d := range durations {
		all = append(all, d.Seconds())
	}
	return all
}
