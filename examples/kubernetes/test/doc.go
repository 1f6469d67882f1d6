// Package test holds the tests of examples/kubernetes. It is a module of its
// own, because Kubernetes's types and kustomize are heavy and nothing else here
// needs them.
//
// The manifests are built by kustomize, decoded strictly into Kubernetes's own
// types, and held against the restricted Pod Security Standard by its own
// checker. Then their pods are run.
//
// # How the pods are run
//
// A real cluster takes root and minutes: see hack/cluster. Here a small stand-in
// for the kubelet translates each pod spec to docker run (pod_test.go and its neighbours): init containers in
// order, variables, Secrets and ConfigMaps as files with the kubelet's symlinks,
// modes and fsGroup, claims and emptyDirs as volumes, the security context, one
// network namespace per pod, a Service as a name on the network, probes by
// docker exec or HTTP, and the grace period. A field that it does not know fails
// the test instead of being ignored. What it cannot show: NetworkPolicies are
// not enforced, Services do not wait for readiness, nothing is scheduled, and no
// container is restarted but by the tests themselves.
//
// podman kube play was tried first, in Debian's version 4.3.1, and does not do:
// it ignores fsGroup, terminationGracePeriodSeconds, startup and readiness
// probes, knows neither StatefulSet nor Job, crashes on a Secret volume that
// does not say "optional", and runs liveness probes by systemd only.
//
// garm-operator's image cannot be had here. Its Deployment is decoded, checked
// and its init container run; the operator itself is not.
package test
