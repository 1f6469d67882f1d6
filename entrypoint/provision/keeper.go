package provision

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Keeper keeps a server provisioned for as long as its process lives. The fields are set before Run and not changed
// after it; of Options, KeepDrift is Run's own.
type Keeper struct {
	Applier
	// Load reads the files anew.
	Load func() (*Declared, error)
	// Declared is what was loaded at the start; it is in force until a newer content loads without a fault.
	Declared *Declared
	// LookEvery is how often the files are looked at for changes; 0: never.
	LookEvery time.Duration
	// CompareEvery is how often the server is compared with what is declared; 0: only at the start and when files change.
	CompareEvery time.Duration
	// Heal sets again, at each comparison, what was changed by hand; else it is said, and comes back at the next start.
	Heal bool
	// OnResult receives what came of each comparison, err when the server could not be read; nil: nobody.
	OnResult func(r *Result, err error)
	// Logger receives a line per change of state.
	Logger *slog.Logger

	said map[string]string // what was said last of each object
	// unreadable and faulty are the last faults of the server and the files, so that each is said once.
	unreadable, faulty, unkept string
	// summed: the first summary was given.
	summed bool
}

// Growing pauses between tries of what failed: a forge that is back is noticed soon, one that is away is left alone.
const (
	firstPause = 2 * time.Second
	maxPause   = 5 * time.Minute
)

// Run applies what is declared, and then looks at files and server until ctx ends. The start is a whole apply, so
// that what was changed by hand comes back; after that it does so only with Heal.
func (k *Keeper) Run(ctx context.Context) {
	k.said = map[string]string{}
	k.OnChange = k.sayChange
	k.OnKeepError = func(err error) {
		k.once(&k.unkept, "provisioning goes on; secrets may have to be sent once more: "+err.Error())
	}
	k.Options.KeepDrift = false
	for pause := firstPause; ; {
		due := time.Time{}
		switch later := k.apply(ctx); {
		case later:
			due, pause = time.Now().Add(pause), k.longer(pause)
		case k.CompareEvery > 0:
			due, pause = time.Now().Add(k.CompareEvery), firstPause
		}
		if !k.wait(ctx, due) {
			return
		}
		k.Options.KeepDrift = !k.Heal
	}
}

// Begin runs the Keeper beside its caller. The function that it returns ends that, and waits until nothing is kept or
// written any more.
func (k *Keeper) Begin(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		k.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}

// longer is the pause after a pause: never longer than what a comparison would come after anyway.
func (k *Keeper) longer(pause time.Duration) time.Duration {
	most := maxPause
	if k.CompareEvery > 0 {
		most = min(most, k.CompareEvery)
	}
	return min(2*pause, most)
}

// wait returns true when a comparison is due (zero: never) or the files have changed, false when ctx ends.
func (k *Keeper) wait(ctx context.Context, due time.Time) bool {
	for {
		timer, stop := timerFor(k.LookEvery, due)
		select {
		case <-ctx.Done():
			stop()
			return false
		case <-timer:
		}
		if k.reload() || !due.IsZero() && !time.Now().Before(due) {
			return true
		}
	}
}

// timerFor fires at the next look or when a comparison is due, whichever is first; never, when neither is.
func timerFor(every time.Duration, due time.Time) (<-chan time.Time, func()) {
	d := every
	if left := time.Until(due); !due.IsZero() && (d <= 0 || left < d) {
		d = max(left, 0)
	} else if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// reload reads the files, and reports whether there is a new content to apply. A content with faults leaves the last
// good one in force.
func (k *Keeper) reload() bool {
	if k.Load == nil {
		return false
	}
	declared, err := k.Load()
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "\n", "; ")
		if text != k.faulty {
			k.faulty = text
			k.Logger.Error("the provision files have faults; the last good ones stay in force: " + text)
		}
		return false
	}
	again := k.faulty != ""
	k.faulty = ""
	if declared.Digest == k.Declared.Digest {
		if again {
			k.Logger.Info("the provision files are as they were before their faults")
		}
		return false
	}
	k.Declared = declared
	k.Logger.Info("the provision files or their secrets have changed")
	for _, w := range declared.Warnings {
		k.Logger.Warn(w)
	}
	return true
}

// apply is Apply, said. It reports whether to try again soon.
func (k *Keeper) apply(ctx context.Context) (later bool) {
	result, err := k.Apply(ctx, k.Declared)
	if ctx.Err() != nil {
		return false
	}
	if k.OnResult != nil {
		k.OnResult(result, err)
	}
	if err != nil {
		k.once(&k.unreadable, "cannot provision the server: "+err.Error())
		return true
	}
	k.unreadable = ""
	k.sayResult(result)
	return result.Later()
}

// once says a fault when it is another one than the last.
func (k *Keeper) once(last *string, text string) {
	if text != *last {
		*last = text
		k.Logger.Warn(text)
	}
}

// words of the actions in log lines.
var words = map[Action]string{Create: "created", Update: "updated", Delete: "deleted"}

// sayChange is one line for each change that was made; what failed is said once it is known to have failed for good.
func (k *Keeper) sayChange(c Change, err error, _, _ int) {
	if err != nil {
		return
	}
	attrs := []any{slog.String("object", c.Object)}
	for _, f := range c.Fields {
		attrs = append(attrs, slog.String(f.Name, f.brief(c.Action)))
	}
	if c.Note != "" {
		attrs = append(attrs, slog.String("note", c.Note))
	}
	k.Logger.Info("provisioned: "+words[c.Action], attrs...)
}

// brief is a field before and after, in one word or two.
func (f FieldChange) brief(a Action) string {
	switch {
	case f.Secret:
		return "changed"
	case a == Create:
		return f.To
	}
	return f.From + " → " + f.To
}

// sayResult says failures and drift once for each change of theirs, and sums up what was done.
func (k *Keeper) sayResult(r *Result) {
	now := map[string]string{}
	for _, p := range r.Problems {
		now["problem "+p.Object] = p.Text
		if k.said["problem "+p.Object] != p.Text {
			k.Logger.Warn("cannot provision "+p.Object+": "+p.Text, p.attrs()...)
		}
	}
	for _, c := range r.Drift {
		text := c.Note
		for _, f := range c.Fields {
			text += fmt.Sprintf(" %s: declared %s, on the server %s;", f.Name, f.To, f.From)
		}
		now["drift "+c.Object] = text
		if k.said["drift "+c.Object] != text {
			k.Logger.Warn("changed by hand and left alone (GARM_PROVISION_DRIFT=heal sets it again)", slog.String("object", c.Object), slog.String("drift", strings.TrimSpace(strings.TrimSuffix(text, ";"))))
		}
	}
	for _, label := range r.Undeclared {
		now["undeclared "+label] = "left alone"
		if k.said["undeclared "+label] == "" {
			k.Logger.Info("no longer declared, and left alone (GARM_PROVISION_PRUNE=true deletes it)", slog.String("object", label))
		}
	}
	for what := range k.said {
		if object, was := strings.CutPrefix(what, "problem "); was && now[what] == "" {
			k.Logger.Info("provisioned after all", slog.String("object", object))
		}
	}
	quiet := len(k.said) == len(now) && r.Created+r.Updated+r.Deleted == 0 && k.summed
	k.said, k.summed = now, true
	if !quiet {
		k.sum(r)
	}
}

func (p Problem) attrs() []any {
	if p.Place.File == "" {
		return nil
	}
	return []any{slog.String("declared", p.Place.String())}
}

func (k *Keeper) sum(r *Result) {
	text := "provisioned"
	if !r.Provisioned() {
		text = "provisioned in part"
	}
	k.Logger.Info(text, slog.Int("created", r.Created), slog.Int("updated", r.Updated), slog.Int("deleted", r.Deleted),
		slog.Int("unchanged", r.Unchanged), slog.Int("failed", r.Failed), slog.Duration("took", r.Took.Round(time.Millisecond)))
}
