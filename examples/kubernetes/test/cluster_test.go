package test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// cluster is what pods share: the objects that were applied, a network, and the
// volumes of the claims, which outlive pods.
type cluster struct {
	t       *testing.T
	objects objects
	network string
	claims  map[string]string
}

// apply makes a cluster of the objects of one build.
func apply(t *testing.T, all objects) *cluster {
	t.Helper()
	needEngine(t)
	c := &cluster{t: t, objects: all, network: newName(), claims: map[string]string{}}
	mustDocker(t, "network", "create", c.network)
	t.Cleanup(func() {
		if got := docker("network", "rm", c.network); got.Code != 0 {
			t.Errorf("cannot remove the network: %s", got.Stderr)
		}
	})
	return c
}

// workload returns the one of that name.
func (c *cluster) workload(name string) workload {
	c.t.Helper()
	for _, w := range workloads(c.objects) {
		if w.name == name {
			return w
		}
	}
	c.t.Fatalf("no %s was applied", name)
	return workload{}
}

// volume makes a Docker volume that goes when the test ends.
func (c *cluster) volume(options ...string) string {
	c.t.Helper()
	name := newName()
	mustDocker(c.t, append([]string{"volume", "create", "--driver", "local", name}, options...)...)
	c.t.Cleanup(func() {
		if got := docker("volume", "rm", name); got.Code != 0 {
			c.t.Errorf("cannot remove a volume: %s", got.Stderr)
		}
	})
	return name
}

// aliases are the names of the Services that select these labels. On a network
// of Docker a name leads to a pod at once and to the same port, so a Service
// with another port would not be shown truly.
func (c *cluster) aliases(w workload) []string {
	c.t.Helper()
	var names []string
	for _, service := range each[*corev1.Service](c.objects) {
		if labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(w.template.Labels)) {
			if from, to := servicePort(c.t, service, w.template.Spec); from != to {
				c.t.Fatalf("the Service %s leads from %d to %d: Docker has no such thing", service.Name, from, to)
			}
			names = append(names, service.Name)
		}
	}
	return names
}

// servicePort returns the port of a Service that has one, and the container's
// port that it leads to.
func servicePort(t *testing.T, service *corev1.Service, spec corev1.PodSpec) (from, to int32) {
	t.Helper()
	if len(service.Spec.Ports) != 1 {
		t.Fatalf("the Service %s has %d ports", service.Name, len(service.Spec.Ports))
	}
	port := service.Spec.Ports[0]
	for _, c := range spec.Containers {
		for _, p := range c.Ports {
			if p.Name == port.TargetPort.String() {
				return port.Port, p.ContainerPort
			}
		}
	}
	t.Fatalf("the Service %s leads to %s, which is no port of the pod", service.Name, port.TargetPort.String())
	return 0, 0
}
