package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// withProvider writes a config whose provider is the one of examples/provider, and returns where a line is written for
// each call of it.
func withProvider(t *testing.T, dir string) (calls string) {
	t.Helper()
	calls = filepath.Join(dir, "calls")
	example, err := filepath.Abs("../examples/provider/garm-provider-example")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"provider":      "#!/bin/sh\necho $GARM_COMMAND $GARM_INSTANCE_ID >> " + calls + "\nexec " + example + "\n",
		"provider.conf": "directory = " + dir + "/machines\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testgarm.Config(t, dir, func(s *testgarm.Settings) {
		s.Extra = fmt.Sprintf("[[provider]]\nname = \"example\"\nprovider_type = \"external\"\n[provider.external]\nprovider_executable = %q\nconfig_file = %q\n",
			filepath.Join(dir, "provider"), filepath.Join(dir, "provider.conf"))
	})
	return calls
}

// called returns the calls of the provider so far.
func called(t *testing.T, calls string) []string {
	t.Helper()
	text, err := os.ReadFile(calls)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// oneRunning waits until garm has exactly one machine, which runs.
func oneRunning(t *testing.T, api *testgarm.Client, token string) testgarm.Instance {
	t.Helper()
	var instances []testgarm.Instance
	testgarm.Eventually(t, patience, "one running machine", func() bool {
		instances = api.Instances(token)
		return len(instances) == 1 && instances[0].Status == "running"
	})
	return instances[0]
}

// A guarded boot of a database with pools, asked for by GARM_FIRST_BOOT, starts garm without the provider of those
// pools. It must harm neither them nor their machines, also where one is waiting to be deleted, and must call no
// provider.
func TestGuardedHarmsNoPool(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	calls := withProvider(t, dir)
	forge := fmt.Sprintf("http://127.0.0.1:%d", testgarm.Forge(t))
	env := []string{"GARM_BASE_URL=http://127.0.0.1:9997"}

	r := start(t, dir, nil, env...)
	r.ready()
	api := testgarm.API(t, testgarm.BaseURL(t, r.config))
	token, _ := api.Login("admin", testgarm.Canary)
	pool := api.AddPool(token, forge, "example")
	before := oneRunning(t, api, token)
	r.stop()
	machine := filepath.Join(dir, "machines", "*", pool, before.Name)
	if found, _ := filepath.Glob(machine); len(found) != 1 {
		t.Fatalf("the provider made no %s", machine)
	}
	made := called(t, calls)

	for name, more := range map[string]string{"proven": "GARM_PASSWORD=" + testgarm.Canary, "other credentials": "GARM_PASSWORD=another-kX9#mQ2$"} {
		r = start(t, dir, nil, append(env, "GARM_FIRST_BOOT=guarded", more)...)
		r.WaitFor("first boot done", patience)
		if got := called(t, calls); !reflect.DeepEqual(got, made) {
			t.Errorf("%s: the guarded boot had the provider called: %q after %q", name, got, made)
		}
		r.WaitFor("msg=ready|not initialised as configured", patience)
		if got := api.Instances(token); len(got) != 1 || got[0] != before {
			t.Errorf("%s: machines %+v, want %+v", name, got, before)
		}
		if got := api.Pools(token); len(got) != 1 || got[0] != pool {
			t.Errorf("%s: pools %v, want %s", name, got, pool)
		}
		r.stop()
	}

	// A machine that is to be deleted when garm stops waits for its provider.
	r = start(t, dir, nil, env...)
	r.ready()
	api.DeleteInstance(token, before.Name)
	r.stop()
	r = start(t, dir, nil, append(env, "GARM_FIRST_BOOT=guarded")...)
	r.ready()
	testgarm.Eventually(t, patience, "the machine's end", func() bool {
		found, _ := filepath.Glob(machine)
		return len(found) == 0
	})
	if after := oneRunning(t, api, token); after.Name == before.Name || after.PoolID != pool {
		t.Errorf("machine %+v, want a new one of pool %s", after, pool)
	}
	if strings.Contains(r.Output(), "unknown provider") {
		t.Error("a pool missed its provider")
	}
	r.stop()
}
