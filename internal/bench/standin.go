package main

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// standIn is the part of a test that package testgarm and the measurements use, for a program that is none. A failure
// is a panic.
type standIn struct {
	testing.TB // nil

	lock     sync.Mutex
	cleanups []func()
}

type failure string

func (t *standIn) Helper() {}

func (t *standIn) Fatal(args ...any) { panic(failure(fmt.Sprint(args...))) }

func (t *standIn) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

func (t *standIn) Cleanup(f func()) {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *standIn) TempDir() string {
	dir, err := os.MkdirTemp("", "garm-entrypoint-bench-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// cleanup runs what is to be run at the end, last in first out, once.
func (t *standIn) cleanup() {
	t.lock.Lock()
	defer t.lock.Unlock()
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}
