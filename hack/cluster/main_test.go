package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Names that manifests have for images.
const (
	ownImage   = "docker.io/library/garm-entrypoint:local"
	nextImage  = "docker.io/library/garm-entrypoint:next" // the same with another label
	plainImage = "ghcr.io/cloudbase/garm:v0.2.1"
)

// node is the one that all tests use, one after the other: they measure times.
var node *Node

func TestMain(m *testing.M) {
	code, err := withNode(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withNode runs the tests on a node.
func withNode(m *testing.M) (code int, err error) {
	dir := os.Getenv("GARM_ENTRYPOINT_CLUSTER_DIR")
	if dir == "" {
		return 0, fmt.Errorf("the tests need namespaces of their own: start them by make test-cluster")
	}
	programs := os.Getenv("GARM_ENTRYPOINT_CLUSTER_PROGRAMS")
	if err := os.Setenv("PATH", programs+":"+os.Getenv("PATH")); err != nil {
		return 1, err
	}
	began := time.Now()
	node, err = Start(context.Background(), programs, dir, os.Getenv("GARM_ENTRYPOINT_CLUSTER_CGROUP"))
	defer func() {
		if err != nil || code != 0 {
			fmt.Fprintln(os.Stderr, node.Logs())
		}
		if stopErr := node.Stop(); err == nil {
			err = stopErr
		}
	}()
	if err != nil {
		return 1, err
	}
	for archive, name := range map[string]string{"own": ownImage, "next": nextImage, "plain": plainImage, "pause": pauseImage} {
		if err := node.Import(filepath.Join(dir, "images", archive+".tar"), name); err != nil {
			return 1, err
		}
	}
	fmt.Printf("the node is ready after %.1f s\n", time.Since(began).Seconds())
	if err := os.Setenv("KUBECONFIG", node.Kubeconfig()); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
