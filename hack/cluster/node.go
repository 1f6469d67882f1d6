package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// nodeName is the node's name, nodeAddress its address, which no other machine has: it is seen in its own namespace
	// only.
	nodeName    = "node"
	nodeAddress = "10.97.0.1"

	podRange     = "10.244.0.0/24"
	serviceRange = "10.96.0.0/16"
	apiServer    = "https://" + nodeAddress + ":6443"

	startTimeout = 3 * time.Minute
	pollStep     = 50 * time.Millisecond
)

// Node is a node that runs, with its control plane.
type Node struct {
	programs string // the directory that build.sh made
	dir      string // all that is written
	cgroup   string // the parent of all control groups, relative to the hierarchies' roots
	token    string
	parts    []*process // in the order of their start
}

// Start starts a node in the namespaces that it finds itself in. programs is the directory that build.sh prints, dir
// one for its files on a disk, cgroup the name of a control group that exists. The caller stops the node, also when
// Start fails.
func Start(ctx context.Context, programs, dir, cgroup string) (*Node, error) {
	n := &Node{programs: programs, dir: dir, cgroup: cgroup}
	for _, step := range []func(context.Context) error{
		n.makeRoom, n.startStore, n.startAPIServer, n.startControllers, n.startContainerd, n.startKubelet, n.startNetwork,
	} {
		ctx, cancel := context.WithTimeout(ctx, startTimeout)
		err := step(ctx)
		cancel()
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Stop ends the pods and then every part of the node, the last one first.
func (n *Node) Stop() error {
	var faults []error
	for _, part := range slices.Backward(n.parts) {
		if part.name == "containerd" {
			faults = append(faults, n.removeTasks())
		}
		faults = append(faults, part.stop())
	}
	n.parts = nil
	return errors.Join(faults...)
}

// Logs returns the end of the log of each part.
func (n *Node) Logs() string {
	var all string
	for _, part := range n.parts {
		all += "--- " + part.log + "\n" + tail(part.log) + "\n"
	}
	return all
}

// Kubeconfig is the path of the file that kubectl needs.
func (n *Node) Kubeconfig() string { return n.path("kubeconfig") }

// launch starts a program that build.sh has built, or else the system's.
func (n *Node) launch(program string, args ...string) (*process, error) {
	if built := filepath.Join(n.programs, program); exists(built) {
		program = built
	}
	p, err := start(n.dir, program, args...)
	if err == nil {
		n.parts = append(n.parts, p)
	}
	return p, err
}

// path returns the path of one of the node's own files.
func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// write writes one of the node's own files and returns its path.
func (n *Node) write(name, text string) (string, error) {
	if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("cannot write a file of the node: %w", err)
	}
	return n.path(name), nil
}

// await polls until the condition holds. No part of the node may end meanwhile.
func (n *Node) await(ctx context.Context, what string, condition func() error) error {
	for {
		last := condition()
		if last == nil {
			return nil
		}
		for _, part := range n.parts {
			if err := part.ended(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("still waiting for %s: %w", what, last)
		case <-time.After(pollStep):
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
