package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	commonerrors "github.com/cloudbase/garm-provider-common/errors"
	"github.com/cloudbase/garm-provider-common/execution/common"
	"github.com/cloudbase/garm-provider-common/params"
)

// The labels by which a runner's container is found again, whatever became of garm.
const (
	labelController = "garm.controller"
	labelPool       = "garm.pool"
	labelName       = "garm.instance"
	labelOwner      = "garm.owner"
	labelOSType     = "garm.os-type"
	labelOSArch     = "garm.os-arch"

	composeProject = "com.docker.compose.project"
	composeService = "com.docker.compose.service"
)

// unstartedFor is how long a container may be made and not started before it counts as left over by a killed provider.
const unstartedFor = 10 * time.Minute

// provider does what garm asks for. All that it knows is in the engine: it keeps no state of its own.
type provider struct {
	config     config
	controller string
	engine     *engine
}

// CreateInstance makes and starts a container. An error, or our end in mid-flight, leaves at most one that
// DeleteInstance finds by the name.
func (p *provider) CreateInstance(ctx context.Context, b params.BootstrapInstance) (params.ProviderInstance, error) {
	f, err := p.config.flavor(b.Flavor)
	if err != nil {
		return params.ProviderInstance{}, err
	}
	if b.OSType != params.Linux {
		return params.ProviderInstance{}, fmt.Errorf("runners are Linux containers, and the pool wants %s", b.OSType)
	}
	place := p.place(ctx)
	if err := p.endLost(ctx, place.owner); err != nil {
		return params.ProviderInstance{}, fmt.Errorf("cannot clean up after the controller before this one: %w", err)
	}
	if p.config.Pull == pullMissing {
		if err := p.engine.pull(ctx, b.Image); err != nil {
			return params.ProviderInstance{}, fmt.Errorf("cannot get image %s: %w", b.Image, err)
		}
	}
	err = p.engine.do(ctx, http.MethodPost, "/containers/create", url.Values{"name": {b.Name}}, p.specification(b, f, place), nil)
	if statusOf(err) == http.StatusConflict {
		return params.ProviderInstance{}, fmt.Errorf("container %s exists: %w", b.Name, commonerrors.ErrDuplicateEntity)
	}
	if err != nil {
		return params.ProviderInstance{}, fmt.Errorf("cannot make container %s: %w", b.Name, err)
	}
	if err := p.fillAndStart(ctx, b); err != nil {
		_ = p.engine.remove(context.WithoutCancel(ctx), b.Name)
		return params.ProviderInstance{}, fmt.Errorf("cannot start container %s: %w", b.Name, err)
	}
	return p.GetInstance(ctx, b.Name)
}

// specification is the container as the engine wants it described.
func (p *provider) specification(b params.BootstrapInstance, f flavor, place place) map[string]any {
	return map[string]any{
		"Image":      b.Image,
		"Entrypoint": []string{agentPath, runnerCommand},
		"Cmd":        []string{},
		"WorkingDir": agentDir,
		"Labels": map[string]string{labelController: p.controller, labelPool: b.PoolID, labelName: b.Name, labelOwner: place.owner,
			labelOSType: string(b.OSType), labelOSArch: string(b.OSArch)},
		"HostConfig": map[string]any{
			"NetworkMode": place.network,
			"Memory":      f.MemoryMB << 20,
			"NanoCpus":    int64(f.CPUs * 1e9),
			"Binds":       p.config.Mounts,
			"Init":        true, // jobs leave orphans
		},
	}
}

// fillAndStart gives the container what it starts with. The instance's token goes in a file, not in what docker inspect
// shows.
func (p *provider) fillAndStart(ctx context.Context, b params.BootstrapInstance) error {
	archive, err := agentArchive(b)
	if err != nil {
		return err
	}
	path := "/containers/" + url.PathEscape(b.Name)
	if err := p.engine.do(ctx, http.MethodPut, path+"/archive", url.Values{"path": {"/"}}, archive, nil); err != nil {
		return err
	}
	return p.engine.do(ctx, http.MethodPost, path+"/start", nil, nil, nil)
}

// place is where runners go.
type place struct{ network, owner string }

// place takes from garm's own container what the config leaves to it.
func (p *provider) place(ctx context.Context) place {
	to := place{network: p.config.Network, owner: p.config.Owner}
	if to.network != "" && to.owner != ownerCompose {
		return to
	}
	var own container
	if host, err := os.Hostname(); err == nil { // the engine's default is the container's id
		own, _ = p.engine.inspect(ctx, host)
	}
	if to.network == "" {
		to.network = "default"
		for name := range own.NetworkSettings.Networks {
			if to.network == "default" || name < to.network {
				to.network = name
			}
		}
	}
	if to.owner == ownerCompose {
		to.owner = ""
		if project := own.Config.Labels[composeProject]; project != "" {
			to.owner = project + "/" + own.Config.Labels[composeService]
		}
	}
	return to
}

// endLost ends the runners of a controller that we took the place of. A busy one finishes its job first, by SIGTERM;
// what ended is removed.
func (p *provider) endLost(ctx context.Context, owner string) error {
	if owner == "" {
		return nil
	}
	found, err := p.engine.list(ctx, labelOwner+"="+owner, labelController)
	if err != nil {
		return err
	}
	for _, c := range found {
		if c.Labels[labelController] == p.controller {
			continue
		}
		if c.State == "running" {
			err = p.engine.do(ctx, http.MethodPost, "/containers/"+c.ID+"/kill", url.Values{"signal": {"SIGTERM"}}, nil, nil)
		} else {
			err = p.engine.remove(ctx, c.ID)
		}
		if status := statusOf(err); err != nil && status != http.StatusNotFound && status != http.StatusConflict { // it ended meanwhile
			return err
		}
	}
	return nil
}

// find returns the container of an instance. One of the same name that is not this controller's does not exist for it.
func (p *provider) find(ctx context.Context, name string) (container, error) {
	c, err := p.engine.inspect(ctx, name)
	if statusOf(err) == http.StatusNotFound || err == nil && (c.Config.Labels[labelController] != p.controller || c.Config.Labels[labelName] == "") {
		return container{}, fmt.Errorf("there is no runner %s: %w", name, commonerrors.ErrNotFound)
	}
	return c, err
}

// GetInstance returns one runner.
func (p *provider) GetInstance(ctx context.Context, name string) (params.ProviderInstance, error) {
	c, err := p.find(ctx, name)
	if err != nil {
		return params.ProviderInstance{}, err
	}
	instance := describe(c.Config.Labels, c.State.Status)
	for _, network := range c.NetworkSettings.Networks {
		if network.IPAddress != "" {
			instance.Addresses = append(instance.Addresses, params.Address{Address: network.IPAddress, Type: params.PrivateAddress})
		}
	}
	return instance, nil
}

// The engine goes on with a creation whose provider was killed: one that is not there yet may come, for this long on an
// engine that is not overloaded. What comes later, ListInstances finds.
const (
	settleFor  = 2 * time.Second
	settleStep = 200 * time.Millisecond
)

// DeleteInstance removes a runner. That it is gone already is fine. It cleans up after a lost controller too: that one's
// busy runners have ended since they were asked to, and a pool may make no more runners.
func (p *provider) DeleteInstance(ctx context.Context, name string) error {
	if err := p.endLost(ctx, p.place(ctx).owner); err != nil {
		return fmt.Errorf("cannot clean up after the controller before this one: %w", err)
	}
	for until := time.Now().Add(settleFor); ; {
		c, err := p.find(ctx, name)
		switch {
		case err == nil:
			return p.engine.remove(ctx, c.ID)
		case common.ResolveErrorToExitCode(err) != common.ExitCodeNotFound:
			return err
		case !time.Now().Before(until):
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settleStep):
		}
	}
}

// ListInstances returns a pool's runners. One that has ended is not listed but removed: a runner is for one job, and
// garm would start it again.
func (p *provider) ListInstances(ctx context.Context, pool string) ([]params.ProviderInstance, error) {
	found, err := p.engine.list(ctx, labelController+"="+p.controller, labelPool+"="+pool)
	if err != nil {
		return nil, err
	}
	instances := []params.ProviderInstance{}
	for _, c := range found {
		unstarted := c.State == "created" && time.Since(time.Unix(c.Created, 0)) > unstartedFor
		if c.State == "exited" || c.State == "dead" || unstarted {
			if err := p.engine.remove(ctx, c.ID); err != nil {
				return nil, err
			}
			continue
		}
		instances = append(instances, describe(c.Labels, c.State))
	}
	return instances, nil
}

// RemoveAllInstances removes all of this controller's runners.
func (p *provider) RemoveAllInstances(ctx context.Context) error {
	found, err := p.engine.list(ctx, labelController+"="+p.controller)
	if err != nil {
		return err
	}
	for _, c := range found {
		if err := p.engine.remove(ctx, c.ID); err != nil {
			return err
		}
	}
	return nil
}

// Start starts a runner that was stopped before it did anything.
func (p *provider) Start(ctx context.Context, name string) error { return p.tell(ctx, name, "start") }

// Stop stops a runner; it is given the engine's ten seconds.
func (p *provider) Stop(ctx context.Context, name string, _ bool) error {
	return p.tell(ctx, name, "stop")
}

func (p *provider) tell(ctx context.Context, name, what string) error {
	c, err := p.find(ctx, name)
	if err != nil {
		return err
	}
	return p.engine.do(ctx, http.MethodPost, "/containers/"+c.ID+"/"+what, nil, nil, nil)
}

// describe is what garm wants to know of a container. The name is the id: garm knows it before the container exists.
func describe(labels map[string]string, state string) params.ProviderInstance {
	status := map[string]params.InstanceStatus{"running": params.InstanceRunning, "restarting": params.InstanceRunning,
		"paused": params.InstanceRunning}[state]
	if status == "" {
		status = params.InstanceStopped
	}
	return params.ProviderInstance{ProviderID: labels[labelName], Name: labels[labelName], Status: status,
		OSType: params.OSType(labels[labelOSType]), OSArch: params.OSArch(labels[labelOSArch])}
}
