// Package provision brings a garm server to the state that provision files declare, and keeps it there.
//
// Its one job is the way declare → observe → plan → apply:
//
//	declared, err := provision.Load(paths, provision.Sources{})  // files to objects; every fault at once, with file and line
//	observed, err := provision.Observe(ctx, api, declared, memory)  // a constant number of list requests
//	plan := provision.NewPlan(declared, observed, memory, provision.PlanOptions{})  // pure: what differs
//	result, err := (&provision.Applier{API: api, …}).Apply(ctx, declared)  // until nothing differs, or what is left has failed
//
// What can be declared stands in one table, Kinds: a kind of object says its key, its fields, what the server cannot
// change and how it is asked for. A new kind is a new row in a file of its own; the rest of the package knows no kind
// by name.
//
// Provisioned is proven by reading the server back and finding no difference. What garm never returns, secrets, is
// compared by keyed fingerprints in a Memory, which also says what is owned: only that is ever deleted. The package
// knows no processes and reads no environment; it writes no file: the caller keeps the Memory.
//
// Neighbours: garmapi carries the requests, initializer makes the admin whose login they need, boot and remote decide
// when to provision, state keeps the Memory.
package provision
