// Package cluster runs one node of a real Kubernetes, and tests examples/kubernetes on it. Its one job is to start that
// node and to leave nothing of it behind.
//
// # How the node lives
//
// test.sh makes namespaces for network, mounts and processes, and runs the tests in them: the node's interfaces,
// iptables rules, mounts and processes are its own, no port of the machine is taken, and whatever happens, they go with
// the first process of the namespaces. The node's own directories (/run, /var/lib, /var/log) lie on a file system in
// memory there, and the sysctls that a kubelet sets for the whole machine are files. Only the control groups are the
// machine's: they have one parent, which test.sh removes.
//
// # What it is made of
//
// etcd, containerd, runc, the plugins for interfaces and iptables are Debian's; all else is built by build.sh. Each pod
// has a link of its own to the node (plugin ptp), so that traffic between pods passes kube-proxy's rules. CoreDNS runs
// on the node and not in a pod. All parts use one token that may do all.
//
// # What it cannot show
//
// No NetworkPolicy is enforced, nothing leaves the node, a volume is a directory of the node, and the image of
// garm-operator cannot be had.
package cluster
