package provision

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"garm-entrypoint/entrypoint/garmapi"
)

// instance is a runner.
type instance struct {
	Name         string `json:"name"`
	PoolID       string `json:"pool_id"`
	ScaleSetID   uint   `json:"scale_set_id"`
	Status       string `json:"status"`
	RunnerStatus string `json:"runner_status"`
	Generation   uint64 `json:"generation"`
}

// idle reports that a runner waits for a job, or will never run one (garm v0.2.1, params: RunnerStatus). One that is
// being made or set up, and one whose state nobody knows, may be about to take a job.
func (i instance) idle() bool {
	switch i.RunnerStatus {
	case "idle", "failed", "terminated", "offline":
		return i.Status == "running" || i.Status == "stopped" || i.Status == "error"
	}
	return i.Status == "error"
}

// of reports whether the runner belongs to a pool or scale set: it has the id of the one, and a zero or empty one of
// the other.
func (i instance) of(a *Actual) bool {
	return i.PoolID == a.ID || i.PoolID == "" && strconv.FormatUint(uint64(i.ScaleSetID), 10) == a.ID
}

// runners lists all runners, in one request, where a pool asks for idle ones of before to be replaced.
func (o *Observed) runners(ctx context.Context, api API, declared *Declared) error {
	for _, object := range declared.Objects {
		if replace, _ := object.Values["replace_idle_runners"].(bool); replace {
			all, err := listInstances(ctx, api, "/instances")
			o.instances = all
			return err
		}
	}
	return nil
}

func listInstances(ctx context.Context, api API, path string) ([]instance, error) {
	var all []instance
	if err := api.Do(ctx, garmapi.Request{Op: "list runners", Method: http.MethodGet, Path: path, Into: &all, Timeout: listTimeout}); err != nil {
		return nil, fmt.Errorf("cannot list what the server has: %w", err)
	}
	return all, nil
}

// drain deletes a pool: disabled first, so that no runner comes after, then its idle runners, and when none is left
// the pool. Busy runners finish; what is left is gone on with the next time.
func drain(x *execution, a *Actual) (bool, error) {
	if enabled, _ := a.Values["enabled"].(bool); enabled {
		if err := update(x, a, map[string]any{"enabled": false}); err != nil {
			return false, err
		}
		a.Values["enabled"] = false
	}
	runners, err := listInstances(x.ctx, x.api, a.Kind.member(a)+"/instances")
	if err != nil {
		return false, err
	}
	left, removed := len(runners), 0
	for _, runner := range runners {
		if !runner.idle() {
			continue
		}
		if err := x.removeRunner(runner); err != nil {
			return false, err
		}
		removed++
	}
	if left > 0 {
		return false, &errDraining{fmt.Sprintf("it is disabled and drains: %d runners are being removed, %d are not idle", removed, left-removed)}
	}
	err = x.remove(a, nil)
	var refused *garmapi.Error
	if errors.As(err, &refused) && refused.Code == http.StatusBadRequest {
		return false, &errDraining{"it is disabled and drains: " + refused.Details}
	}
	return true, err
}

// removeRunner asks garm to remove a runner, which takes it off the forge first: the forge refuses that of a busy one.
func (x *execution) removeRunner(i instance) error {
	err := x.do(garmapi.Request{Op: "remove runner " + i.Name, Method: http.MethodDelete, Path: "/instances/" + url.PathEscape(i.Name), Timeout: x.forgeLimit()})
	if garmapi.Is(err, http.StatusNotFound) || garmapi.Is(err, http.StatusBadRequest) {
		return nil // gone, or in a state in which it cannot be removed: the next look tells
	}
	return err
}

// replaceIdle removes the idle runners that were made before the last change of what runners are made of.
func replaceIdle(x *execution, t *target, a *Actual) error {
	if replace, _ := t.Values["replace_idle_runners"].(bool); !replace {
		return nil
	}
	generation, _ := strconv.ParseUint(numberText(a.raw, "generation"), 10, 64)
	for _, i := range x.observed.instances {
		if i.of(a) && i.Generation < generation && i.idle() {
			if err := x.removeRunner(i); err != nil {
				return err
			}
		}
	}
	return nil
}
