package provision_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
)

// A secret whose file changes is sent, once, and it alone; one that does not, is not. Its place and the form it is
// named in mean nothing.
func TestSecretRotation(t *testing.T) {
	t.Parallel()
	s, f := startServer(t, pinned(t)), newForge(t)
	path := everything(t, s.dir, f.URL)
	memory := provision.NewMemory()
	s.apply(memory, load(t, path), provision.PlanOptions{})
	apply := func() (changed []string) {
		result := s.apply(memory, load(t, path), provision.PlanOptions{})
		for _, c := range result.Changes {
			if len(c.Fields) != 1 || !c.Fields[0].Secret || c.Fields[0].From+c.Fields[0].To != "" {
				t.Errorf("change %+v", c)
			}
			changed = append(changed, c.Object)
		}
		slices.Sort(changed)
		return changed
	}
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"nothing", func() {}, ""},
		{"touched", func() { write(t, s.dir, "token", "canary-token-of-the-forge\n") }, ""},
		{"another line end", func() { write(t, s.dir, "token", "canary-token-of-the-forge\r\n") }, ""},
		{"token", func() { write(t, s.dir, "token", "canary-second-token\n") }, "credentials bot,credentials bot"},
		{"webhook secret", func() { write(t, s.dir, "hook", "canary-second-hook\n") }, "enterprise big,organization acme"},
		{"moved", func() {
			data, _ := os.ReadFile(path)
			write(t, s.dir, "elsewhere", "canary-second-token\n")
			write(t, s.dir, "all.toml", strings.ReplaceAll(string(data), `token_file = "token"`, `token_file = "elsewhere"`))
		}, ""},
	} {
		step.change()
		if got := strings.Join(apply(), ","); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	// Garm has the new one: it is what the forge is asked with.
	if got := apply(); got != nil {
		t.Errorf("at last: %v", got)
	}
}

// The memory survives as what was encoded; of another server it is worth nothing, and nothing is pruned there.
func TestMemoryOfAnotherServer(t *testing.T) {
	t.Parallel()
	a, b, f := startServer(t, pinned(t)), startServer(t, pinned(t)), newForge(t)
	path := several(t, a.dir, f.URL, 2)
	memory := provision.NewMemory()
	a.apply(memory, load(t, path), provision.PlanOptions{})
	b.apply(provision.NewMemory(), load(t, path), provision.PlanOptions{})
	empty := load(t, write(t, a.dir, "empty.toml", ""))
	if result := b.apply(memory, empty, provision.PlanOptions{Prune: true}); result.Deleted != 0 {
		t.Errorf("pruned on a server that is not ours: %+v", result.Changes)
	}
	b.exactly(2)
}

// A canary: no secret shows in what a plan, a result, an error or the memory says, whatever garm or the forge answer.
func TestCanary(t *testing.T) {
	t.Parallel()
	const token, hook, clear = "canary-Tk9!vQ2#Lm8$nB4&wT7", "canary-Wh3!xR5#Kp1$zD6&yG2", "canary-Cl7!mN4#Qs9$uF8&eJ5"
	s, f := startServer(t, pinned(t)), newForge(t)
	path := everything(t, s.dir, f.URL)
	write(t, s.dir, "token", token+"\n")
	write(t, s.dir, "hook", hook+"\n")
	appendTo(t, path, fmt.Sprintf("[[credentials]]\nname = \"clear\"\nendpoint = \"ghes\"\ntoken = %q\n", clear))
	key, err := os.ReadFile(filepath.Join(s.dir, "app.pem"))
	if err != nil {
		t.Fatal(err)
	}
	keyLine := strings.Split(string(key), "\n")[1]
	check := func(what string, values ...any) {
		t.Helper()
		for _, v := range values {
			data, _ := json.Marshal(v)
			for _, text := range []string{string(data), fmt.Sprintf("%v %+v", v, v)} {
				for _, secret := range []string{token, hook, clear, keyLine} {
					quoted, _ := json.Marshal(secret)
					if strings.Contains(text, secret) || strings.Contains(text, strings.Trim(string(quoted), `"`)) {
						t.Errorf("%s shows a secret", what)
					}
				}
			}
		}
	}
	memory := provision.NewMemory()
	declared := load(t, path)
	check("a warning", declared.Warnings)
	plan := s.plan(memory, declared, provision.PlanOptions{})
	check("a plan", plan, plan.Changes, plan.Problems)
	// A garm that repeats what it was sent.
	echo := newFakeAPI()
	echo.refuse = func(r garmapi.Request) error {
		body, _ := json.Marshal(r.Body)
		return &garmapi.Error{Op: r.Op, Code: 400, Kind: "Bad Request", Details: "refused " + hidden(string(body), r.Secrets)}
	}
	refused := echo.apply(t, memory, declared, provision.PlanOptions{})
	if refused.Provisioned() {
		t.Error("nothing was refused")
	}
	check("a refusal", refused.Problems)
	f.refuse(500)
	failed, err := s.tryApply(memory, declared, provision.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("a failure", failed, failed.Problems, failed.Changes)
	f.refuse(0)
	result := s.apply(memory, declared, provision.PlanOptions{})
	check("a result", result, result.Changes)
	encoded, err := memory.Encode()
	if err != nil {
		t.Fatal(err)
	}
	check("the memory", string(encoded))
	if again, err := provision.ParseMemory(encoded); err != nil || len(again.Objects) != len(memory.Objects) {
		t.Errorf("the memory does not come back: %v", err)
	}
}

// hidden is what garmapi makes of an answer that repeats secrets, whose names a request must give it.
func hidden(text string, secrets []string) string {
	for _, secret := range secrets {
		quoted, _ := json.Marshal(secret)
		text = strings.ReplaceAll(text, strings.Trim(string(quoted), `"`), "[hidden]")
		text = strings.ReplaceAll(text, secret, "[hidden]")
	}
	return text
}
