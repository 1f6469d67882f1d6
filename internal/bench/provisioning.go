package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"garm-entrypoint/entrypoint/garmapi"
	"garm-entrypoint/entrypoint/provision"
	"garm-entrypoint/internal/testgarm"
)

// poolsEach is how many pools each repository has.
const poolsEach = 2

// compareEvery is how often the server is compared by default (DESIGN.md, section 5).
const compareEvery = 5 * time.Minute

// provisionTable measures provisioning beside the same requests sent one after another, and what comparing costs.
func (b *bench) provisionTable() *table {
	t := &table{title: "Provisioning, of repositories with two pools each", header: []string{"figure", "ours", "bare", "ratio", "target", "verdict"}}
	forge := fmt.Sprintf("http://127.0.0.1:%d", testgarm.Forge(b))
	var own, bare samples
	most := b.repositories[len(b.repositories)-1]
	for turn := range b.applies {
		// The same files, an empty server each; who comes first changes.
		if turn%2 == 0 {
			own = append(own, b.applied(forge, most))
			bare = append(bare, b.bare(forge, most))
		} else {
			bare = append(bare, b.bare(forge, most))
			own = append(own, b.applied(forge, most))
		}
	}
	t.add(fmt.Sprintf("apply of %d repositories and %d pools to an empty server, ms", most, poolsEach*most), ms(own.median()), ms(bare.median()),
		ratio(own.median(), bare.median()), "at most 1.1", verdict(own.median().Seconds() <= 1.1*bare.median().Seconds()))
	b.addAgain(t, forge)
	return t
}

// addAgain measures a second apply, whose requests must not grow with the server, and what comparing costs garm.
func (b *bench) addAgain(t *table, forge string) {
	constant := 0
	for _, n := range b.repositories {
		s, api, declared := b.declaredOn(forge, n)
		memory := provision.NewMemory()
		b.apply(api, memory, declared)
		api.reads, api.writes = 0, 0
		took := b.apply(api, memory, declared)
		if constant == 0 {
			constant = api.reads
		}
		t.add(fmt.Sprintf("second apply, %d repositories: list requests", n), fmt.Sprint(api.reads), "", "", fmt.Sprintf("%d, as for %d", constant, b.repositories[0]), verdict(api.reads == constant))
		t.add(fmt.Sprintf("second apply, %d repositories: writes", n), fmt.Sprint(api.writes), "", "", "0", verdict(api.writes == 0))
		t.add(fmt.Sprintf("second apply, %d repositories, ms", n), ms(took), "", "", "", "")
		if n == b.repositories[len(b.repositories)-1] {
			b.addComparing(t, s, api, memory, declared)
		}
		s.stop()
	}
}

// addComparing measures garm's CPU time for a comparison beside what it burns by itself in the time between two.
func (b *bench) addComparing(t *table, s *server, api *counted, memory *provision.Memory, declared *provision.Declared) {
	before := b.cpu(s.pid)
	begin := time.Now()
	time.Sleep(b.idle)
	idle := time.Duration(float64(b.cpu(s.pid)-before) / time.Since(begin).Seconds() * compareEvery.Seconds())
	before, begin = b.cpu(s.pid), time.Now()
	for range b.looks {
		b.apply(api, memory, declared)
	}
	own := time.Since(begin)
	used := b.cpu(s.pid) - before - time.Duration(float64(idle)*own.Seconds()/compareEvery.Seconds())
	each := max(used, 0) / time.Duration(b.looks)
	t.add(fmt.Sprintf("comparing once in %v: garm's CPU, and its own in that time, ms", compareEvery), ms(each), ms(idle), ratio(each, idle), "below 1", verdict(each < idle))
}

// counted is a session that counts.
type counted struct {
	*garmapi.Session
	reads, writes int
}

// Do implements provision.API.
func (c *counted) Do(ctx context.Context, r garmapi.Request) error {
	if r.Method == http.MethodGet {
		c.reads++
	} else {
		c.writes++
	}
	return c.Session.Do(ctx, r)
}

// newServer is an initialised garm with a provider that makes nothing.
func (b *bench) newServer() (*server, *connection) {
	site := b.newSite(b.port)
	data, err := os.ReadFile(site.config)
	if err != nil {
		b.Fatal(err)
	}
	data = append(data, "[[provider]]\nname = \"none\"\nprovider_type = \"external\"\n[provider.external]\nprovider_executable = \"/bin/true\"\n"...)
	if err := os.WriteFile(site.config, data, 0o600); err != nil {
		b.Fatal(err)
	}
	s := site.alone()
	s.accepts()
	c := s.connect()
	c.initialise()
	return s, c
}

// declaredOn is a new server, and files that declare n repositories on it.
func (b *bench) declaredOn(forge string, n int) (*server, *counted, *provision.Declared) {
	s, c := b.newServer()
	c.close()
	u, err := url.Parse(s.base)
	if err != nil {
		b.Fatal(err)
	}
	client := garmapi.New(garmapi.Options{Server: u, Transport: garmapi.NewTransport(garmapi.Trust{}, nil)})
	session := garmapi.NewSession(client, garmapi.SessionOptions{Username: "admin", Password: testgarm.Canary, Token: c.token})
	var text strings.Builder
	fmt.Fprintf(&text, "[[endpoint]]\nname = \"forge\"\nforge = \"gitea\"\nbase_url = %q\nuse_internal_tools_metadata = true\n[[credentials]]\nname = \"bot\"\nendpoint = \"forge\"\ntoken = \"x\"\n", forge)
	for i := range n {
		fmt.Fprintf(&text, "[[repository]]\nowner = \"acme\"\nname = \"r%d\"\ncredentials = \"bot\"\n", i)
		for p := range poolsEach {
			fmt.Fprintf(&text, "[[repository.pool]]\nname = \"p%d\"\nprovider = \"none\"\nimage = \"i\"\nflavor = \"f\"\ntags = [\"x\"]\nmax_runners = 2\nenabled = false\n", p)
		}
	}
	path := filepath.Join(b.dir, "provision.toml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	declared, err := provision.Load([]string{path}, provision.Sources{})
	if err != nil {
		b.Fatal(err)
	}
	return s, &counted{Session: session}, declared
}

func (b *bench) apply(api provision.API, memory *provision.Memory, declared *provision.Declared) time.Duration {
	result, err := (&provision.Applier{API: api, Memory: memory}).Apply(context.Background(), declared)
	if err != nil {
		b.Fatal(err)
	}
	if !result.Provisioned() {
		b.Fatalf("%d problems, the first: %v", result.Failed, result.Problems[0])
	}
	return result.Took
}

func (b *bench) applied(forge string, n int) time.Duration {
	s, api, declared := b.declaredOn(forge, n)
	defer s.stop()
	return b.apply(api, provision.NewMemory(), declared)
}

// bare sends the same requests in the same order over one connection, and waits for each answer.
func (b *bench) bare(forge string, n int) time.Duration {
	s, c := b.newServer()
	defer s.stop()
	defer c.close()
	begin := time.Now()
	post := func(path string, body map[string]any) (id string) {
		var answer struct{ ID any }
		if err := json.Unmarshal(c.ask(http.StatusOK, http.MethodPost, path, body), &answer); err != nil {
			b.Fatal(err)
		}
		return fmt.Sprint(answer.ID)
	}
	post("/gitea/endpoints", map[string]any{"name": "forge", "base_url": forge, "api_base_url": forge, "use_internal_tools_metadata": true})
	post("/gitea/credentials", map[string]any{"name": "bot", "endpoint": "forge", "auth_type": "pat", "pat": map[string]any{"oauth2_token": "x"}})
	ids := make([]string, n)
	for i := range n {
		ids[i] = post("/repositories", map[string]any{"owner": "acme", "name": fmt.Sprintf("r%d", i), "credentials_name": "bot", "forge_type": "gitea", "webhook_secret": "x"})
	}
	for _, id := range ids {
		for p := range poolsEach {
			post("/repositories/"+id+"/pools", map[string]any{"runner_prefix": fmt.Sprintf("p%d", p), "provider_name": "none", "image": "i", "flavor": "f", "tags": []string{"x"},
				"max_runners": 2, "enabled": false, "os_type": "linux", "os_arch": "amd64", "runner_bootstrap_timeout": 20})
		}
	}
	return time.Since(begin)
}
