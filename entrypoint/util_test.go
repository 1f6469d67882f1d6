package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/internal/testgarm"
)

func itoa(n int) string { return strconv.Itoa(n) }

// childOf returns the one child of a process.
func childOf(t *testing.T, pid int) (child int) {
	t.Helper()
	testgarm.Eventually(t, 10*time.Second, "a child", func() bool {
		for _, child = range children(pid) {
		}
		return child != 0
	})
	return child
}

// children of a process now, whichever of its threads they are of.
func children(pid int) (all []int) {
	tasks, _ := os.ReadDir("/proc/" + itoa(pid) + "/task")
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/" + itoa(pid) + "/task/" + task.Name() + "/children")
		for _, field := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(field); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// firstRunReason sends a first run and returns garm's reason for refusing it, empty when there is none.
func firstRunReason(t *testing.T, baseURL, user, email, password string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"username": user, "email": email, "password": password, "full_name": "A"})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(baseURL+"/api/v1/first-run", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Details string }
	_ = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Details
}
