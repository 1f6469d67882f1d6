package image_test

import (
	"os"
	"regexp"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// find returns the first group of the pattern in the file.
func find(t *testing.T, file, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		t.Fatalf("%s has no line like %s", file, pattern)
	}
	return string(match[1])
}

// TestGarmPin holds the Dockerfile's garm image against go.mod: client, tests and image talk of one release.
func TestGarmPin(t *testing.T) {
	t.Parallel()
	if got, want := find(t, "../Dockerfile", `(?m)^ARG GARM_VERSION=(\S+)$`), testgarm.Version(t); got != want {
		t.Errorf("Dockerfile has garm %s, go.mod pins %s", got, want)
	}
}

// TestToolchainPin holds the Dockerfile's Go image against go.mod's go line: the golang images do not switch toolchains
// by themselves.
func TestToolchainPin(t *testing.T) {
	t.Parallel()
	got := find(t, "../Dockerfile", `(?m)^ARG GO_IMAGE=\S+/golang:(\d+\.\d+)`)
	want := find(t, "../go.mod", `(?m)^go (\d+\.\d+)`)
	if got != want {
		t.Errorf("Dockerfile builds with Go %s, go.mod wants %s", got, want)
	}
}
