package main

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

//go:embed testdata/probe.c
var probeSource []byte

// buildProbe compiles it; what it does is said in its source.
func (b *bench) buildProbe() string {
	source, binary := filepath.Join(b.dir, "probe.c"), filepath.Join(b.dir, "probe")
	if err := os.WriteFile(source, probeSource, 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O2", "-Wall", "-static", "-o", binary, source).CombinedOutput(); err != nil {
		b.Fatalf("cannot compile the probe, which takes gcc and a static libc (Debian: gcc libc6-dev): %v\n%s", err, out)
	}
	return binary
}

//go:embed testdata/least/main.go
var leastSource []byte

// buildLeast compiles it as our own binary is compiled.
func (b *bench) buildLeast() string {
	source, binary := filepath.Join(b.dir, "least.go"), filepath.Join(b.dir, "linked")
	if err := os.WriteFile(source, leastSource, 0o600); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("cannot compile the least: %v\n%s", err, out)
	}
	return b.copyOf(binary, "least")
}

// canBePID1 tries it.
func (b *bench) canBePID1() bool {
	cmd := exec.Command(b.probe, "launch", "pid1", b.probe)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
	return cmd.Run() == nil
}
