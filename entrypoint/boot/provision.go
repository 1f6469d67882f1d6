package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/entrypoint/settings"
	"garm-entrypoint/entrypoint/state"
)

// planProvisioning reads the provision files, and finds what they do not go with.
func (p *Plan) planProvisioning(env settings.Environment) error {
	if p.load = Loader(p.settings.ProvisionPaths(), env); p.load == nil {
		return nil
	}
	var err error
	if p.declared, err = p.load(); err != nil {
		return err
	}
	return errors.Join(append(fits(p.declared, p.config), clashes(p.declared, p.want)...)...)
}

// Loader reads the provision files at those paths anew each time; nil: there are none.
func Loader(paths []string, env settings.Environment) func() (*provision.Declared, error) {
	if len(paths) == 0 {
		return nil
	}
	return func() (*provision.Declared, error) {
		return provision.Load(paths, provision.Sources{Variable: env.Get})
	}
}

// fits lists what of a declaration garm's config does not go with: the running server would refuse it.
func fits(d *provision.Declared, c *garmconfig.Config) []error {
	var faults []error
	known := c.ProviderNames()
	for name, place := range d.Providers() {
		if !slices.Contains(known, name) {
			there := "there is none"
			if len(known) > 0 {
				there = "there are " + strings.Join(known, ", ")
			}
			faults = append(faults, &provision.Fault{Place: place, Text: fmt.Sprintf("%s has no [[provider]] %q: %s", c.Path, name, there)})
		}
	}
	if place, asked := d.Webhooks(); asked && !c.ManagesWebhooks() {
		faults = append(faults, &provision.Fault{Place: place, Text: fmt.Sprintf("garm installs webhooks only with enable_webhook_management = true in [default] of %s", c.Path)})
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return faults
}

// clashes lists controller URLs that the settings and the files want differently.
func clashes(d *provision.Declared, want initializer.Controller) []error {
	var faults []error
	for _, u := range []struct{ field, value string }{
		{"metadata_url", want.MetadataURL}, {"callback_url", want.CallbackURL}, {"webhook_url", want.WebhookURL}, {"agent_url", want.AgentURL},
	} {
		if declared, place := d.Controller(u.field); declared != "" && u.value != "" && declared != u.value {
			faults = append(faults, &provision.Fault{Place: place, Text: fmt.Sprintf("%s is %s here and %s by GARM_BASE_URL or its siblings: say it in one place", u.field, declared, u.value)})
		}
	}
	return faults
}

// garmsEnvironment is ours without our secrets, those that provision files name included.
func (p *Plan) garmsEnvironment(env settings.Environment) settings.Environment {
	env = env.Without("GARM_PASSWORD")
	if p.declared != nil {
		for _, name := range p.declared.SecretVariables {
			env = env.Without(name)
		}
	}
	return env
}

// provision begins to keep a server that is ready as it is declared. The function that it returns ends that, and waits
// until nothing of it writes to the state directory any more.
func (b *Boot) provision(ctx context.Context, i *initializer.Initializer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.warnLegacy(ctx, i)
		if b.plan.declared != nil {
			k := NewKeeper(b.plan.settings, b.plan.stateDir(), b.plan.declared, b.plan.load, b.log)
			k.API = i.Session()
			k.Run(ctx)
		}
	}()
	return func() { cancel(); <-ended }
}

// NewKeeper makes what keeps a server provisioned, but for the API that it is reached by. Damaged memory is said.
func NewKeeper(s settings.Settings, stateDir string, declared *provision.Declared, load func() (*provision.Declared, error), log *slog.Logger) *provision.Keeper {
	file := state.NewProvisionFile(stateDir)
	memory, err := provision.Recall(file)
	if err != nil {
		log.Warn(err.Error())
	}
	return &provision.Keeper{
		Applier:      provision.Applier{Memory: memory, Keep: provision.KeepIn(file), Options: provision.PlanOptions{Prune: s.ProvisionPrune}},
		Load:         load,
		Declared:     declared,
		LookEvery:    s.WatchInterval,
		CompareEvery: s.ProvisionInterval,
		Heal:         s.ProvisionDrift == settings.DriftHeal,
		Logger:       log,
	}
}

// warnLegacy says that [[github]] sections of garm's config are not on the server, where their owner would look for
// them: garm imports them only into a database of before v0.1.5.
func (b *Boot) warnLegacy(ctx context.Context, i *initializer.Initializer) {
	names := b.plan.config.LegacyCredentials()
	if len(names) == 0 {
		return
	}
	have, err := provision.CredentialsNames(ctx, i.Session())
	if err != nil {
		b.log.Debug("cannot look for the [[github]] sections on the server", slog.Any("error", err))
		return
	}
	missing := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(have, name) })
	if len(missing) > 0 {
		b.log.Warn("the [[github]] sections of garm's config are not on the server, and garm will not import them: "+strings.Join(missing, ", "),
			slog.String("cure", "garm-entrypoint export --from-config prints them as a provision file; or add them with garm-cli"))
	}
}
