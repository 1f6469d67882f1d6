package provision

import "fmt"

// gitHubEndpoint is built into every garm.
const gitHubEndpoint = "github.com"

// Forges that garm knows.
const (
	gitHub = "github"
	gitea  = "gitea"
)

// target is a declared object with its identity: what its files leave open, the server answers.
type target struct {
	*Object
	// Forge and Endpoint that it belongs to, as far as they are known.
	Forge, Endpoint string
	// Key is its identity; empty: it cannot be told.
	Key    string
	parent *target
}

// login is what credentials of a name are for.
type login struct{ forge, endpoint string }

// resolver finds out which forge and endpoint the objects belong to.
type resolver struct {
	forges   map[string]string  // by endpoint
	logins   map[string][]login // by name of the credentials
	problems []Problem
}

// resolve gives each declared object its identity. observed may be nil: then only the files answer.
func resolve(declared *Declared, observed *Observed) ([]*target, []Problem) {
	r := &resolver{forges: map[string]string{gitHubEndpoint: gitHub}, logins: map[string][]login{}}
	if observed != nil {
		r.learn(observed)
	}
	for _, o := range declared.Objects {
		if o.Kind == endpointKind {
			r.forges[o.Name] = o.Forge
		}
	}
	byObject := map[*Object]*target{}
	var all []*target
	for _, o := range declared.Objects {
		t := &target{Object: o, Forge: o.Forge, Endpoint: o.Endpoint}
		if o.Parent != nil {
			t.parent = byObject[o.Parent]
			t.Forge, t.Endpoint = t.parent.Forge, t.parent.Endpoint
		}
		r.place(t, observed != nil)
		if t.parent == nil || t.parent.Key != "" {
			t.Key = o.Kind.key(t)
		}
		byObject[o] = t
		all = append(all, t)
	}
	return all, r.problems
}

// learn takes over what the server has; what the files say comes on top.
func (r *resolver) learn(observed *Observed) {
	for _, a := range observed.all {
		switch a.Kind {
		case endpointKind:
			r.forges[a.Name] = a.Forge
		case credentialsKind:
			r.addLogin(a.Name, login{a.Forge, a.Endpoint})
		}
	}
}

func (r *resolver) addLogin(name string, l login) {
	for n, known := range r.logins[name] {
		if known.forge == l.forge {
			r.logins[name][n] = l
			return
		}
	}
	r.logins[name] = append(r.logins[name], l)
}

// place finds the forge and the endpoint of a target. online: the server has been asked, so what is missing is missing.
func (r *resolver) place(t *target, online bool) {
	switch {
	case t.Kind == credentialsKind:
		forge, known := r.forges[t.Endpoint]
		if t.Forge = forge; known {
			r.addLogin(t.Name, login{forge, t.Endpoint})
		} else if online {
			r.problem(t, "endpoint", fmt.Sprintf("the endpoint %q is neither declared nor on the server", t.Endpoint))
		}
	case t.Credentials != "":
		r.placeEntity(t, online)
	}
}

// placeEntity: an entity belongs to the endpoint of its credentials.
func (r *resolver) placeEntity(t *target, online bool) {
	var fit []login
	for _, l := range r.logins[t.Credentials] {
		if t.Forge == "" || t.Forge == l.forge {
			fit = append(fit, l)
		}
	}
	switch {
	case len(fit) == 1:
		t.Forge, t.Endpoint = fit[0].forge, fit[0].endpoint
	case len(fit) > 1:
		r.problem(t, "credentials", fmt.Sprintf("both forges have credentials %q: add forge = \"gitea\" or \"github\"", t.Credentials))
	case online:
		r.problem(t, "credentials", fmt.Sprintf("the credentials %q are neither declared nor on the server", t.Credentials))
	}
}

func (r *resolver) problem(t *target, field, text string) {
	r.problems = append(r.problems, Problem{Object: t.Label(), Place: t.placeOf(field), Text: text, Key: t.Key})
}
