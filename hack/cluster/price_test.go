package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// probesMeasured is how many health checks the price of one is the mean of.
const probesMeasured = 20

// TestProbePrice measures what one exec probe costs the node in CPU time: in the pod, and in containerd, its shims and
// the runc processes that these have waited for.
func TestProbePrice(t *testing.T) {
	s := newSpace(t, "garm-price")
	s.typeHead("base").nth(t, 1)
	container := strings.TrimPrefix(s.sh("kubectl get pod -n garm garm-0 -o jsonpath={.status.containerStatuses[0].containerID}"), "containerd://")
	podBefore, runtimeBefore := podCPU(t, container), runtimeCPU(t)
	for n := range probesMeasured {
		if err := node.ctr("tasks", "exec", "--exec-id", fmt.Sprintf("price-%d", n), container, "/usr/local/bin/garm-entrypoint", "healthcheck"); err != nil {
			t.Fatal(err)
		}
	}
	pod, runtime := podCPU(t, container)-podBefore, runtimeCPU(t)-runtimeBefore
	if pod <= 0 || runtime <= 0 {
		t.Fatalf("%v in the pod and %v in the runtime: nothing was measured", pod, runtime)
	}
	t.Logf("one exec probe takes %v of CPU time in the pod and %v in containerd and runc",
		(pod / probesMeasured).Round(100*time.Microsecond), (runtime / probesMeasured).Round(100*time.Microsecond))
}

// podCPU is the CPU time that a container's control group has used.
func podCPU(t *testing.T, container string) time.Duration {
	t.Helper()
	var groups []string
	for _, pattern := range []string{"/sys/fs/cgroup/cpuacct/", "/sys/fs/cgroup/"} {
		found, err := filepath.Glob(pattern + node.cgroup + "/kubepods/*/*/" + container)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, found...)
	}
	if len(groups) == 0 {
		t.Fatalf("no control group of %s", container)
	}
	if usage, err := os.ReadFile(filepath.Join(groups[0], "cpuacct.usage")); err == nil {
		return time.Duration(number(t, strings.TrimSpace(string(usage))))
	}
	usage, err := os.ReadFile(filepath.Join(groups[0], "cpu.stat"))
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(number(t, strings.Fields(string(usage))[1])) * time.Microsecond
}

// runtimeCPU is the CPU time of containerd and its shims, and of their children that have ended.
func runtimeCPU(t *testing.T) time.Duration {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var ticks int64
	for _, stat := range stats {
		text, err := os.ReadFile(stat)
		if err != nil || !strings.Contains(string(text), "(containerd") {
			continue // it has ended, or is another's
		}
		_, fields, _ := strings.Cut(string(text), ") ")
		for _, field := range strings.Fields(fields)[11:15] { // utime, stime, cutime, cstime: proc_pid_stat(5)
			ticks += number(t, field)
		}
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ is 100 on every Linux that Go runs on
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
