package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

const (
	// pauseImage holds a pod's namespaces. test.sh makes it.
	pauseImage = "docker.io/library/garm-entrypoint-cluster-pause:local"

	containerdSocket = "/run/containerd/containerd.sock"
)

// startContainerd starts containerd with its plugin for kubelets.
func (n *Node) startContainerd(ctx context.Context) error {
	if err := os.MkdirAll(n.path("cni"), 0o700); err != nil {
		return err
	}
	if _, err := n.write("cni/10-node.conflist", fmt.Sprintf(`{
  "cniVersion": "0.4.0", "name": "node",
  "plugins": [{"type": "ptp", "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]}}]
}`, podRange)); err != nil {
		return err
	}
	// restrict_oom_score_adj: without the right to lower that score no sandbox would start.
	config, err := n.write("containerd.toml", fmt.Sprintf(`version = 2
root = %q
state = "/run/containerd"
[grpc]
address = %q
[plugins."io.containerd.internal.v1.opt"]
path = %q
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = %q
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = %q
`, n.path("containerd"), containerdSocket, n.path("opt"), pauseImage, n.path("cni")))
	if err != nil {
		return err
	}
	if _, err := n.launch("containerd", "--config", config); err != nil {
		return err
	}
	return n.await(ctx, "containerd", func() error { return run("ctr", "--address", containerdSocket, "version") })
}

// Import gives the node an image from an archive of docker save, under the name by which manifests know it.
func (n *Node) Import(archive, name string) error {
	before, err := n.images()
	if err != nil {
		return err
	}
	if err := n.ctr("images", "import", archive); err != nil {
		return err
	}
	after, err := n.images()
	if err != nil {
		return err
	}
	for image := range after {
		if !before[image] && image != name && !strings.HasPrefix(image, "sha256:") {
			return n.ctr("images", "tag", "--force", image, name)
		}
	}
	if !after[name] {
		return fmt.Errorf("cannot import %s: it brought no new image", archive)
	}
	return nil
}

func (n *Node) images() (map[string]bool, error) {
	out, err := exec.Command("ctr", "--address", containerdSocket, "-n", "k8s.io", "images", "list", "--quiet").Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the node's images: %w", err)
	}
	names := map[string]bool{}
	for _, name := range strings.Fields(string(out)) {
		names[name] = true
	}
	return names, nil
}

func (n *Node) ctr(args ...string) error {
	return run("ctr", append([]string{"--address", containerdSocket, "-n", "k8s.io"}, args...)...)
}

// removeTasks kills what still runs in containers: containerd would leave it.
func (n *Node) removeTasks() error {
	out, err := exec.Command("ctr", "--address", containerdSocket, "-n", "k8s.io", "tasks", "list", "--quiet").Output()
	if err != nil {
		return fmt.Errorf("cannot list the node's tasks: %w", err)
	}
	var faults []error
	for _, task := range strings.Fields(string(out)) {
		faults = append(faults, n.ctr("tasks", "delete", "--force", task))
	}
	return errors.Join(faults...)
}

// startKubelet starts the kubelet and waits until the node is ready.
func (n *Node) startKubelet(ctx context.Context) error {
	resolv, err := n.write("resolv.conf", "")
	if err != nil {
		return err
	}
	config, err := n.write("kubelet.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%[2]s
clusterDNS: [%[1]s]
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://%[3]s
enforceNodeAllocatable: []
evictionHard: {memory.available: 10Mi, nodefs.available: "1%%", imagefs.available: "1%%", nodefs.inodesFree: "1%%"}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
oomScoreAdj: 0
resolvConf: %[4]s
volumePluginDir: %[5]s
`, nodeAddress, n.cgroup, containerdSocket, resolv, n.path("plugins")))
	if err != nil {
		return err
	}
	// Volumes are mounted there, and every container must see them.
	root := n.path("kubelet")
	if err := os.MkdirAll(root, 0o750); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_SHARED|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("cannot share mounts: %w", err)
	}
	if _, err := n.launch("kubelet", "--config="+config, "--kubeconfig="+n.Kubeconfig(), "--root-dir="+root, "--cert-dir="+n.path("kubelet-pki"),
		"--hostname-override="+nodeName, "--node-ip="+nodeAddress); err != nil {
		return err
	}
	return n.await(ctx, "the node to be ready", func() error { return n.nodeReady(ctx) })
}

func (n *Node) nodeReady(ctx context.Context) error {
	answer, err := n.get(ctx, "/api/v1/nodes/"+nodeName)
	if err != nil {
		return err
	}
	var node struct {
		Status struct{ Conditions []condition }
	}
	if err := json.Unmarshal(answer, &node); err != nil {
		return err
	}
	for _, c := range node.Status.Conditions {
		if c.Type == "Ready" && c.Status == "True" {
			return nil
		}
	}
	return fmt.Errorf("the node's conditions are %+v", node.Status.Conditions)
}

// condition is one of an object's status.
type condition struct{ Type, Status, Reason, Message string }

// startNetwork starts what leads Services' addresses to pods, and their names to addresses.
func (n *Node) startNetwork(ctx context.Context) error {
	// Limits of connections are the machine's, and may not be set from here.
	if _, err := n.launch("kube-proxy", "--kubeconfig="+n.Kubeconfig(), "--proxy-mode=iptables", "--cluster-cidr="+podRange,
		"--hostname-override="+nodeName, "--conntrack-max-per-core=0", "--conntrack-min=0", "--conntrack-tcp-timeout-established=0",
		"--conntrack-tcp-timeout-close-wait=0", "--oom-score-adj=0"); err != nil {
		return err
	}
	corefile, err := n.write("Corefile", fmt.Sprintf(`.:53 {
	bind %s
	errors
	ready 127.0.0.1:8181
	kubernetes cluster.local {
		kubeconfig %s node
	}
}
`, nodeAddress, n.Kubeconfig()))
	if err != nil {
		return err
	}
	if _, err := n.launch("coredns", "-conf", corefile); err != nil {
		return err
	}
	return n.await(ctx, "the name server", func() error { return answers(ctx, "http://127.0.0.1:8181/ready") })
}
