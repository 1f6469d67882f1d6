package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/BurntSushi/toml"
)

// config is the provider's own config file. What is left out has the value that readConfig says.
type config struct {
	// Socket is the Docker Engine's.
	Socket string `toml:"socket"`
	// Network is the one that runners join; empty: the first one of garm's own container, else the engine's default.
	Network string `toml:"network"`
	// Owner marks the runners. By it a garm whose database was lost finds those of the controller before it, and ends
	// them when they are idle. ownerCompose: the Compose project and service of garm's own container. Empty: it does
	// not.
	Owner string `toml:"owner"`
	// Pull says when an image is pulled: pullMissing or pullNever.
	Pull string `toml:"pull"`
	// Mounts are bind mounts for every runner, in docker's own form: SOURCE:TARGET[:ro].
	Mounts []string `toml:"mounts"`
	// Flavors are what a pool's flavor may be.
	Flavors map[string]flavor `toml:"flavors"`
}

// flavor is how much of the machine a runner may use; zero: all of it.
type flavor struct {
	MemoryMB int64   `toml:"memory_mb"`
	CPUs     float64 `toml:"cpus"`
}

const (
	defaultSocket = "/var/run/docker.sock"
	defaultFlavor = "default" // there without being declared, and without a limit
	ownerCompose  = "compose"
	pullMissing   = "missing"
	pullNever     = "never"
)

// readConfig reads and checks the config file, and says all that is wrong with it at once.
func readConfig(path string) (config, error) {
	c := config{Socket: defaultSocket, Pull: pullMissing}
	meta, err := toml.DecodeFile(path, &c)
	if err != nil {
		return config{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	var faults []error
	for _, key := range meta.Undecoded() {
		faults = append(faults, fmt.Errorf("unknown key %s", key))
	}
	if !slices.Contains([]string{pullMissing, pullNever}, c.Pull) {
		faults = append(faults, fmt.Errorf("pull is %q: it must be %q or %q", c.Pull, pullMissing, pullNever))
	}
	for name, f := range c.Flavors {
		if f.MemoryMB < 0 || f.CPUs < 0 {
			faults = append(faults, fmt.Errorf("flavor %s has a limit below zero", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return config{}, fmt.Errorf("cannot use %s: %w", path, err)
	}
	return c, nil
}

// flavor finds a pool's flavor.
func (c config) flavor(name string) (flavor, error) {
	f, ok := c.Flavors[name]
	if !ok && name != defaultFlavor {
		return flavor{}, fmt.Errorf("there is no flavor %q in the provider's config", name)
	}
	return f, nil
}
