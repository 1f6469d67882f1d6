package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// What each garm does of what is asked for. docs/releases.md shows it, and the tests below hold it against the real
// servers (all of them: make test-versions).
type release struct {
	version string
	// api: the controller's URLs can be set through the API. v0.1.4 takes them from its config file.
	api bool
	// agent: it has an agent URL and a CA bundle.
	agent bool
	// says: it says that it has no admin.
	says bool
	// oneWins: of several first runs at once one is accepted.
	oneWins bool
}

var releases = []release{
	{version: testgarm.V014},
	{version: testgarm.V015, api: true, oneWins: true},
	{version: testgarm.V018, api: true, oneWins: true},
	{version: testgarm.V021, api: true, oneWins: true, agent: true, says: true},
}

// row is a version's row in docs/releases.md.
func (r release) row() []string {
	word := func(is bool, yes, no string) string {
		if is {
			return yes
		}
		return no
	}
	return []string{r.version, "yes",
		word(r.api, "set and kept", "those of `[default]` in its config, which has to have them"),
		word(r.agent, "set and kept", "not there: named once, no failure"),
		word(r.oneWins, "one admin", "one admin per user name"),
		word(r.version == testgarm.V021, "the pinned one", "yes"),
	}
}

var releasesHead = []string{"garm", "Admin created and proven", "Metadata, callback and webhook URL", "Agent URL, CA bundle", "First runs of several at once", "Its database on v0.2.1"}

func releasesTable() string {
	var rows [][]string
	for _, r := range releases {
		rows = append(rows, r.row())
	}
	return table(releasesHead, rows)
}

// eachRelease runs a test for each version that is to be tested with.
func eachRelease(t *testing.T, test func(*testing.T, release)) {
	asked := testgarm.Releases(t)
	for _, r := range releases {
		if slices.Contains(asked, r.version) {
			t.Run(r.version, func(t *testing.T) {
				t.Parallel()
				test(t, r)
			})
		}
	}
}

const base = "https://garm.example.com"

// theURLs are what base stands for.
var theURLs = testgarm.Controller{
	MetadataURL: base + "/api/v1/metadata", CallbackURL: base + "/api/v1/callbacks",
	WebhookURL: base + "/webhooks", AgentURL: base + "/agent",
}

// config writes one that this garm accepts. v0.1.4 has to have its URLs there.
func (r release) config(t *testing.T, dir string, edits ...func(*testgarm.Settings)) string {
	t.Helper()
	if !r.api {
		edits = append(edits, func(s *testgarm.Settings) {
			s.Default = `metadata_url = "` + theURLs.MetadataURL + `"
callback_url = "` + theURLs.CallbackURL + `"
webhook_url = "` + theURLs.WebhookURL + `"`
		})
	}
	return testgarm.Config(t, dir, edits...)
}

// serve starts this garm on a database in dir.
func (r release) serve(t *testing.T, dir string) (url string, p *testgarm.Proc) {
	t.Helper()
	config := r.config(t, dir)
	return testgarm.BaseURL(t, config), testgarm.StartRelease(t, r.version, config)
}

// proven logs in and wants the URLs; it returns the controller's id.
func (r release) proven(t *testing.T, url, password string) (id string) {
	t.Helper()
	api := testgarm.API(t, url)
	token, status := api.Login("admin", password)
	if status != 200 {
		t.Fatalf("login answers %d", status)
	}
	c, status := api.Controller(token)
	if (status == 200) != r.api {
		t.Errorf("/controller answers %d: does it have it? %v", status, r.api)
	}
	if !r.api {
		c, status = api.LegacyController(token)
	}
	want := theURLs
	if !r.agent {
		want.AgentURL = ""
	}
	if got := (testgarm.Controller{MetadataURL: c.MetadataURL, CallbackURL: c.CallbackURL, WebhookURL: c.WebhookURL, AgentURL: c.AgentURL}); status != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("controller %+v (%d), want %+v", got, status, want)
	}
	return c.ID
}

// tally is a reverse proxy that counts what goes through.
type tally struct {
	*httptest.Server
	lock  sync.Mutex
	count map[string]int
}

func newTally(t *testing.T, to string) *tally {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &tally{count: map[string]int{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.lock.Lock()
		p.count[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1")]++
		p.lock.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// reset forgets, and returns what was counted.
func (p *tally) reset() map[string]int {
	p.lock.Lock()
	defer p.lock.Unlock()
	counted := p.count
	p.count = map[string]int{}
	return counted
}

// initOn runs init against a server and returns its output.
func initOn(t *testing.T, url string, code int, env ...string) string {
	t.Helper()
	env = append([]string{"GARM_SERVER=" + url, "GARM_CONFIG=/nowhere", "GARM_PASSWORD=" + testgarm.Canary}, env...)
	p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"init"}, env)
	if got := p.Wait(patience); got != code {
		t.Errorf("init ended with %d, want %d", got, code)
	}
	testgarm.NoCanary(t, []*testgarm.Proc{p})
	return p.Output()
}

func TestVersionsAreBuiltAsNamed(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		p := testgarm.Start(t, testgarm.Release(t, r.version), []string{"--version"}, nil)
		p.WaitFor("^"+r.version+"$", patience)
	})
}

// init on a fresh server, again, with other credentials, and again when the server was set up by hand.
func TestVersionsInit(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		url, _ := r.serve(t, t.TempDir())
		proxy := newTally(t, url)
		bundle, _ := testgarm.KeyPair(t, filepath.Join(t.TempDir(), "ca"))
		out := initOn(t, proxy.URL, 0, "GARM_BASE_URL="+base, "GARM_CA_BUNDLE="+bundle)
		r.proven(t, url, testgarm.Canary)
		counted := proxy.reset()
		if !strings.Contains(out, "admin admin: created") || strings.Contains(out, "warning") {
			t.Errorf("fresh: %s", out)
		}
		for _, what := range []string{"metadata URL", "callback URL", "webhook URL", "agent URL", "CA bundle"} {
			cannot := !r.agent && (what == "agent URL" || what == "CA bundle")
			if strings.Contains(out, what+": this garm cannot hold it") != cannot {
				t.Errorf("fresh: can it not hold the %s? %v: %s", what, cannot, out)
			}
		}
		if c, _ := testgarm.API(t, url).Controller(mustLogin(t, url)); len(c.CABundle) > 0 != r.agent {
			t.Errorf("it holds a CA bundle of %d bytes", len(c.CABundle))
		}
		if puts := counted["PUT /controller"]; puts == 0 == r.api || counted["POST /first-run"] != 1 {
			t.Errorf("fresh: sent %v", counted)
		}
		out = initOn(t, proxy.URL, 0, "GARM_BASE_URL="+base)
		counted = proxy.reset()
		if !strings.Contains(out, "already there") || !strings.Contains(out, "nothing to change") || counted["PUT /controller"] != 0 || counted["POST /first-run"] != 0 || counted["POST /auth/login"] != 1 {
			t.Errorf("again: %ssent %v", out, counted)
		}
		out = initOn(t, proxy.URL, exitTakeover, "GARM_BASE_URL=https://other.example.com", "GARM_PASSWORD=another-kX9#mQ2$")
		if !strings.Contains(out, "these credentials are not his") || proxy.reset()["PUT /controller"] != 0 {
			t.Errorf("other credentials: %s", out)
		}
		r.proven(t, url, testgarm.Canary)
	})
}

// A server that has an admin, and no URLs: made by hand, by garm-cli's init that was cut off, or by an older garm.
func TestVersionsWithoutURLs(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		url, _ := r.serve(t, t.TempDir())
		if status := testgarm.API(t, url).FirstRun(testgarm.User{Username: "admin", Password: testgarm.Canary, Email: "a@localhost"}); status != 200 {
			t.Fatalf("first run: %d", status)
		}
		out := initOn(t, url, 0, "GARM_BASE_URL="+base)
		if !strings.Contains(out, "already there") || strings.Contains(out, "metadata URL: changed") != r.api {
			t.Errorf("%s", out)
		}
		r.proven(t, url, testgarm.Canary)
	})
}

// The main job, twice on one volume.
func TestVersionsRun(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		dir := t.TempDir()
		r.config(t, dir)
		for n := range 2 {
			p := start(t, dir, nil, "GARM_BASE_URL="+base, "GARM_BINARY="+testgarm.Release(t, r.version))
			p.ready()
			r.proven(t, testgarm.BaseURL(t, p.config), testgarm.Canary)
			healthy(t, p.config)
			if created := strings.Contains(p.Stderr(), "admin created"); created != (n == 0) {
				t.Errorf("start %d: admin created: %v", n, created)
			}
			if set := strings.Contains(p.Stderr(), "controller URLs set"); set != (n == 0 && r.api) {
				t.Errorf("start %d: URLs set: %v", n, set)
			}
			if said := strings.Count(p.Stderr(), "level=WARN"); said > 1 || said == 1 == r.agent {
				t.Errorf("start %d: %d warnings", n, said)
			}
			p.stop()
		}
	})
}

// A database of an older garm under the next one and under the pinned one: it is adopted, keeps its identity, and gets
// the URLs that it could not hold.
func TestVersionsUpgrade(t *testing.T) {
	pinned := releases[len(releases)-1]
	eachRelease(t, func(t *testing.T, r release) {
		if r == pinned {
			t.Skip("nothing to upgrade to")
		}
		next := releases[slices.Index(releases, r)+1]
		for _, path := range [][]release{{pinned}, {next, pinned}} {
			dir := t.TempDir()
			r.config(t, dir)
			old := start(t, dir, nil, "GARM_BASE_URL="+base, "GARM_BINARY="+testgarm.Release(t, r.version))
			old.ready()
			id := r.proven(t, testgarm.BaseURL(t, old.config), testgarm.Canary)
			old.stop()
			// Without [default], which would hide the gap.
			testgarm.Config(t, dir)
			for _, to := range path {
				p := start(t, dir, nil, "GARM_BASE_URL="+base, "GARM_BINARY="+testgarm.Release(t, to.version))
				p.ready()
				if now := to.proven(t, testgarm.BaseURL(t, p.config), testgarm.Canary); now != id {
					t.Errorf("%s has made controller %s of %s", to.version, now, id)
				}
				if strings.Contains(p.Stderr(), "admin created") || strings.Contains(p.Stderr(), "first boot") {
					t.Errorf("%s took the database for a new one", to.version)
				}
				p.stop()
			}
		}
	})
}

// v0.1.4 does not start with the config that is generated.
func TestVersionsGeneratedConfig(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		p := testgarm.Start(t, testgarm.Entrypoint(t), []string{"check"}, []string{"GARM_CONFIG=" + filepath.Join(t.TempDir(), "config.toml"),
			"GARM_BINARY=" + testgarm.Release(t, r.version), "GARM_PASSWORD=" + testgarm.Canary, "GARM_BASE_URL=" + base})
		if code := p.Wait(patience); (code == 0) != r.api || r.api != strings.Contains(p.Output(), "garm's verdict: good") {
			t.Errorf("check ended with %d: %s", code, p.Output())
		}
	})
}

// v0.1.5 serves next to nothing before it has a webhook URL too.
func TestVersionsWithoutWebhookURL(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		if !r.api {
			t.Skip("its URLs are in its config")
		}
		url, p := r.serve(t, t.TempDir())
		out := initOn(t, url, 0, "GARM_METADATA_URL="+theURLs.MetadataURL, "GARM_CALLBACK_URL="+theURLs.CallbackURL)
		_, status := testgarm.API(t, url).LegacyController(mustLogin(t, url))
		if warned := strings.Contains(out, "warning"); warned != (status == 409) || warned != (r.version == testgarm.V015) {
			t.Errorf("the legacy path answers %d, and we say: %s", status, out)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait(patience)
	})
}

func mustLogin(t *testing.T, url string) string {
	t.Helper()
	token, status := testgarm.API(t, url).Login("admin", testgarm.Canary)
	if status != 200 {
		t.Fatalf("login answers %d", status)
	}
	return token
}
