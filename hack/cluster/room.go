package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// machineSysctls are what a kubelet sets for the whole machine.
var machineSysctls = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// makeRoom prepares the namespaces: directories, sysctls, and an interface that carries the node's address.
func (n *Node) makeRoom(context.Context) error {
	if err := ownNamespaces(); err != nil {
		return err
	}
	for _, dir := range []string{"/run", "/var/lib", "/var/log"} {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("cannot mount %s: %w", dir, err)
		}
	}
	for _, sysctl := range machineSysctls {
		path := filepath.Join("/proc/sys", sysctl)
		value, err := os.ReadFile(path)
		if err != nil {
			continue // a kernel without it
		}
		file, err := n.write("sysctl-"+strings.ReplaceAll(sysctl, "/", "-"), string(value))
		if err != nil {
			return err
		}
		if err := syscall.Mount(file, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("cannot cover the sysctl %s: %w", sysctl, err)
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
		return fmt.Errorf("cannot forward between pods: %w", err)
	}
	for _, command := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "node0", "type", "veth", "peer", "name", "node1"},
		{"address", "add", nodeAddress + "/32", "dev", "node0"},
		{"link", "set", "node0", "up"},
		{"link", "set", "node1", "up"},
		{"route", "add", "default", "dev", "node0"}, // leads nowhere: kube-proxy's rules need a route to a Service's address
	} {
		if err := run("ip", command...); err != nil {
			return err
		}
	}
	return nil
}

// ownNamespaces refuses to do any of this to the machine itself.
func ownNamespaces() error {
	interfaces, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return fmt.Errorf("cannot see which network this is: %w", err)
	}
	if os.Getpid() != 1 || strings.Count(string(interfaces), ":") != 1 {
		return fmt.Errorf("not in namespaces of their own (process %d): start the tests by hack/cluster/test.sh", os.Getpid())
	}
	return nil
}
