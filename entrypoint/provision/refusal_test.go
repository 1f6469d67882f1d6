package provision_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
)

// twoForges declares a good Gitea and a bad one, each with two organizations that want a webhook and have a pool.
func twoForges(t testing.TB, dir, good, bad string) string {
	t.Helper()
	write(t, dir, "token", "canary-token-of-the-forge\n")
	var text strings.Builder
	for _, of := range [][2]string{{"bad", bad}, {"good", good}} {
		name, u := of[0], of[1]
		fmt.Fprintf(&text, "[[endpoint]]\nname = %[1]q\nforge = \"gitea\"\nbase_url = %[2]q\nuse_internal_tools_metadata = true\n"+
			"[[credentials]]\nname = %[1]q\nendpoint = %[1]q\ntoken_file = \"token\"\n", name, u)
		for n := range 2 {
			fmt.Fprintf(&text, "[[organization]]\nname = \"%[1]s%[2]d\"\ncredentials = %[1]q\nwebhook = \"install\"\n[[organization.pool]]\nname = \"p\"\nenabled = false\n%[3]s",
				name, n, strings.Replace(aPool, `"p"`, `"example"`, 1))
		}
	}
	return write(t, dir, "forges.toml", text.String())
}

// said counts what OnChange is told of each object: the same thing once.
type said map[string]int

func (s said) change(c provision.Change, err error, _, _ int) {
	if err != nil {
		s[c.Object+": "+err.Error()]++
	}
}

func (s *server) applyLimited(memory *provision.Memory, declared *provision.Declared, limit time.Duration) (*provision.Result, said, time.Duration) {
	s.t.Helper()
	told := said{}
	applier := &provision.Applier{API: s, Memory: memory, Timeout: limit, OnChange: told.change}
	begin := time.Now()
	result, err := applier.Apply(s.t.Context(), declared)
	if err != nil {
		s.t.Fatal(err)
	}
	return result, told, time.Since(begin)
}

// A forge that refuses, or is not there, costs what needs it, once, and nothing else; when it is back the next apply does
// the rest, and nothing is there twice.
func TestForgeRefuses(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + closed.Addr().String()
	_ = closed.Close()
	for name, status := range map[string]int{"500": 500, "403": 403, "connection refused": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, good, bad := startServer(t, pinned(t)), newForge(t), newForge(t)
			bad.refuse(status)
			u := bad.URL
			if status == 0 {
				u = nobody
			}
			declared, memory := load(t, twoForges(t, s.dir, good.URL, u)), provision.NewMemory()
			result, told, took := s.applyLimited(memory, declared, 5*time.Second)
			if took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			for _, p := range result.Problems {
				if !strings.Contains(p.Object, "bad") || !p.Later {
					t.Errorf("problem %+v", p)
				}
			}
			if result.Provisioned() {
				t.Error("provisioned, although a forge refuses")
			}
			for object, n := range told {
				if n > 1 {
					t.Errorf("%s: said %d times", object, n)
				}
			}
			if n := good.hookCount(); n != 2 {
				t.Errorf("%d webhooks at the good forge", n)
			}
			t.Logf("%v: %s", took.Round(time.Millisecond), problems(result))
			if status == 0 {
				return // it never comes back
			}
			bad.refuse(0)
			s.apply(memory, declared, provision.PlanOptions{})
			if n := bad.hookCount(); n != 2 {
				t.Errorf("%d webhooks at the forge that is back", n)
			}
			if got := s.has("/pools", textOf("org_name", "runner_prefix")); strings.Join(got, ",") != "bad0 p,bad1 p,good0 p,good1 p" {
				t.Errorf("pools: %v", got)
			}
		})
	}
}

// A forge that never answers stalls garm itself (v0.2.1). Each request has its time, what needs that forge is not asked for
// any more, and once it wakes everything is there once.
func TestForgeIsSilent(t *testing.T) {
	t.Parallel()
	s, good, bad := startServer(t, pinned(t)), newForge(t), newForge(t)
	wake := bad.fall()
	defer wake()
	declared, memory := load(t, twoForges(t, s.dir, good.URL, bad.URL)), provision.NewMemory()
	const limit = 2 * time.Second
	result, told, took := s.applyLimited(memory, declared, limit)
	t.Logf("%v: %s", took.Round(time.Millisecond), problems(result))
	// One request runs into its limit, and so may one for each other forge, as garm stalls for it too.
	if took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if result.Provisioned() || !result.Later() {
		t.Errorf("result: %+v", result)
	}
	for object, n := range told {
		if n > 1 {
			t.Errorf("%s: said %d times", object, n)
		}
	}
	again, _, took := s.applyLimited(memory, declared, limit)
	t.Logf("again, %v: %s", took.Round(time.Millisecond), problems(again))
	wake()
	deadline := time.Now().Add(time.Minute)
	for {
		result, _, _ = s.applyLimited(memory, declared, 5*time.Second)
		if result.Provisioned() {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the forge is awake: %s", problems(result))
		}
	}
	if got := s.has("/pools", textOf("org_name", "runner_prefix")); strings.Join(got, ",") != "bad0 p,bad1 p,good0 p,good1 p" {
		t.Errorf("pools: %v", got)
	}
	if n := good.hookCount(); n != 2 {
		t.Errorf("%d webhooks at the good forge", n)
	}
	if n := bad.hookCount(); n != 2 {
		t.Errorf("%d webhooks at the silent forge", n)
	}
}

// cutting lets a test act before a request.
type cutting struct {
	provision.API
	before func(n int, r garmapi.Request)
	n      int
}

func (c *cutting) Do(ctx context.Context, r garmapi.Request) error {
	c.n++
	c.before(c.n, r)
	return c.API.Do(ctx, r)
}

// A garm that is killed and started in the middle of an apply costs that apply what was asked for in between, at most.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	declared, memory := load(t, several(t, s.dir, f.URL, 4)), provision.NewMemory()
	writes := 0
	api := &cutting{API: s, before: func(_ int, r garmapi.Request) {
		if r.Method == "GET" {
			return
		}
		if writes++; writes == 6 {
			s.restart()
		}
	}}
	result, err := (&provision.Applier{API: api, Memory: memory, Timeout: 5 * time.Second}).Apply(t.Context(), declared)
	if err != nil {
		t.Logf("left to the next time: %v", err)
	} else if !result.Provisioned() {
		t.Logf("left to the next time: %s", problems(result))
	}
	s.apply(memory, declared, provision.PlanOptions{})
	s.exactly(4)
}

// A memory that cannot be kept stops nothing and is said once. The next process sends each secret once more, and no more.
func TestMemoryCannotBeKept(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	path := everything(t, s.dir, f.URL)
	full := errors.New("no space left on device")
	var kept []byte
	apply := func(memory *provision.Memory, fails bool) (secrets, said int) {
		var changes []provision.Change
		applier := &provision.Applier{API: s, Memory: memory, Timeout: 5 * time.Second,
			Keep: func(m *provision.Memory) (err error) {
				if fails {
					return full
				}
				kept, err = m.Encode()
				return err
			},
			OnKeepError: func(err error) {
				if said++; !errors.Is(err, full) {
					t.Error(err)
				}
			},
		}
		result, err := applier.Apply(t.Context(), load(t, path))
		if err != nil || !result.Provisioned() {
			t.Fatalf("%v %s", err, problems(result))
		}
		changes = result.Changes
		for _, c := range changes {
			if slices.ContainsFunc(c.Fields, func(f provision.FieldChange) bool { return f.Secret }) {
				secrets++
			}
		}
		return secrets, said
	}
	memory := provision.NewMemory()
	all, said := apply(memory, true)
	if said != 1 {
		t.Errorf("said %d times", said)
	}
	if n, _ := apply(memory, true); n != 0 {
		t.Errorf("the same process sent %d secrets again", n)
	}
	if n, _ := apply(provision.NewMemory(), false); n != all {
		t.Errorf("the next process sent %d of %d secrets", n, all)
	}
	again, err := provision.ParseMemory(kept)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := apply(again, false); n != 0 {
		t.Errorf("the one after it sent %d secrets", n)
	}
}

// losing carries out requests, and of some writes returns no answer: nobody knows what became of them.
type losing struct {
	provision.API
	lose func() bool
}

func (l losing) Do(ctx context.Context, r garmapi.Request) error {
	err := l.API.Do(ctx, r)
	if r.Method == "GET" || !l.lose() {
		return err
	}
	passed, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	return l.API.Do(passed, garmapi.Request{Op: r.Op, Method: "GET", Path: "/controller"})
}

// Answers that are lost make nothing twice: what was asked for is looked for before it is asked for again.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	declared, memory := load(t, several(t, s.dir, f.URL, 4)), provision.NewMemory()
	lost := 0
	api := losing{s, func() bool { lost++; return lost%3 == 0 }}
	for try := 0; ; try++ {
		result, err := (&provision.Applier{API: api, Memory: memory, Timeout: 20 * time.Second}).Apply(t.Context(), declared)
		if err != nil {
			t.Fatal(err)
		}
		if result.Provisioned() {
			break
		}
		if try == 50 {
			t.Fatalf("still not: %s", problems(result))
		}
	}
	if lost < 3 {
		t.Fatal("no answer was lost")
	}
	s.exactly(4)
	lost = -1000
	s.counts()
	s.apply(memory, declared, provision.PlanOptions{})
	if _, writes := s.counts(); writes != 0 {
		t.Errorf("%d writes at last", writes)
	}
}
