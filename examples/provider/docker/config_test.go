package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text   string
		want   config
		faults []string
	}{
		"empty": {"", config{Socket: defaultSocket, Pull: pullMissing}, nil},
		"all": {"socket = \"/s\"\nnetwork = \"n\"\nowner = \"o\"\npull = \"never\"\nmounts = [\"/a:/b\"]\n[flavors.small]\nmemory_mb = 512\ncpus = 0.5\n",
			config{Socket: "/s", Network: "n", Owner: "o", Pull: pullNever, Mounts: []string{"/a:/b"},
				Flavors: map[string]flavor{"small": {MemoryMB: 512, CPUs: 0.5}}}, nil},
		"all faults at once": {"sockets = 1\npull = \"often\"\n[flavors.x]\ncpus = -1.0\n", config{},
			[]string{"unknown key sockets", `pull is "often"`, "flavor x has a limit below zero"}},
		"not TOML": {"=", config{}, []string{"cannot read"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "config.toml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readConfig(path)
			for _, fault := range c.faults {
				if err == nil || !strings.Contains(err.Error(), fault) {
					t.Errorf("error %v: want %q in it", err, fault)
				}
			}
			if c.faults == nil && err != nil {
				t.Error(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("config %+v: want %+v", got, c.want)
			}
		})
	}
}

func TestFlavor(t *testing.T) {
	t.Parallel()
	c := config{Flavors: map[string]flavor{"small": {CPUs: 1}}}
	for name, want := range map[string]flavor{"small": {CPUs: 1}, "default": {}} {
		if got, err := c.flavor(name); got != want || err != nil {
			t.Errorf("flavor %s: %v, %v: want %v", name, got, err, want)
		}
	}
	if _, err := c.flavor("huge"); err == nil {
		t.Error("a flavor that nobody declared is taken")
	}
}
