package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

func itoa(n int) string { return strconv.Itoa(n) }

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	child := 0
	testgarm.Eventually(t, 10*time.Second, "a child", func() bool {
		tasks, _ := os.ReadDir("/proc/" + itoa(pid) + "/task")
		for _, task := range tasks {
			text, _ := os.ReadFile("/proc/" + itoa(pid) + "/task/" + task.Name() + "/children")
			if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
				child = n
			}
		}
		return child != 0
	})
	return child
}
