package initializer_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/initializer"
	"garm-entrypoint/internal/fakegarm"
)

// What v0.1.4 holds already, by its config, is no unfulfilled wish.
func TestV014HoldsWhatItsConfigSays(t *testing.T) {
	b := newBench(t, fakegarm.New(fakegarm.V014), func(o *initializer.Options) {
		o.Want = initializer.Controller{MetadataURL: fakegarm.ConfigURL, CallbackURL: urls.CallbackURL}
	})
	result := b.ensure(t)
	if want := []string{"callback URL"}; !reflect.DeepEqual(result.Unsupported, want) || result.URLsMissing || len(result.Changed) > 0 {
		t.Errorf("%+v, want only %q unsupported", result, want)
	}
}

// v0.1.5 wants a webhook URL as well.
func TestV015WantsAWebhookURL(t *testing.T) {
	for _, version := range versions {
		b := newBench(t, fakegarm.New(version), func(o *initializer.Options) { o.Want.WebhookURL = "" })
		if result := b.ensure(t); result.URLsMissing != (version == fakegarm.V015) {
			t.Errorf("%s: URLs missing: %v", version, result.URLsMissing)
		}
	}
}

// One request per look, also where the controller is at its path of old; and a server that was upgraded meanwhile is
// noticed.
func TestWatchUpgrade(t *testing.T) {
	garm := fakegarm.New(fakegarm.V014)
	b := newBench(t, garm, watching)
	b.ensure(t)
	b.watch(t)
	before, lost := garm.Count("GET /controller-info"), garm.Count("GET /controller")
	eventually(t, "ten looks", func() bool { return garm.Count("GET /controller-info") >= before+10 })
	if n := garm.Count("GET /controller"); n != lost {
		t.Errorf("%d requests for a path that is known not to be there", n-lost)
	}
	for _, version := range []string{fakegarm.V015, fakegarm.V021} {
		garm.Lock()
		garm.Version = version
		maps.DeleteFunc(garm.Controller, func(k string, _ any) bool { return strings.HasSuffix(k, "_url") })
		maps.Copy(garm.Controller, fakegarm.New(version).Controller)
		garm.Unlock()
		eventually(t, "URLs set on "+version, func() bool {
			garm.Lock()
			defer garm.Unlock()
			return garm.Controller["metadata_url"] == urls.MetadataURL && (version != fakegarm.V021 || garm.Controller["agent_url"] == urls.AgentURL)
		})
	}
}

// What depends on a version stands in one place of each: versions.go. Elsewhere only a comment may name one.
func TestVersionsAreTreatedInOnePlace(t *testing.T) {
	own, err := filepath.Glob("*.go")
	client, clientErr := filepath.Glob("../garmapi/*.go")
	if err != nil || clientErr != nil || len(client) == 0 {
		t.Fatal(err, clientErr, len(client))
	}
	comment, version := regexp.MustCompile(`(?m)//.*$`), regexp.MustCompile(`v0\.\d|[lL]egacy|[kK]ind[IU]|[nN]oSuchPath`)
	for _, file := range append(own, client...) {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "versions.go" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(data), "\n") {
			if version.MatchString(comment.ReplaceAllString(line, "")) {
				t.Errorf("%s:%d: %s", file, n+1, strings.TrimSpace(line))
			}
		}
	}
}
