package settings

import (
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/garmconfig"
	"garm-entrypoint/internal/testgarm"
)

// What is odd at the ends of a value is one warning with the variable's name, and the value is used as it is.
func TestOddEnds(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"quoted secret 4711"`: "quotes around it", `'quoted secret 4711'`: "quotes around it",
		" blank secret 4711": "a blank at", "blank secret 4711\t": "a blank at", "secret 4711\u00a0": "a blank at",
		"\x01secret 4711": "a control character", "secret 4711\x7f": "a control character",
		`secret "4711"`: "", `"`: "", "secret 4711": "", "'secret 4711\"": "", "sécrèt 管": "",
	} {
		s, warnings, err := Read(CmdRun, nil, Environment{"GARM_PASSWORD=" + value})
		if err != nil || s.Password != value {
			t.Errorf("%q: %v, used as %q", value, err, s.Password)
		}
		text := strings.Join(warnings, "\n")
		if want == "" && text != "" || want != "" && (len(warnings) != 1 || !strings.HasPrefix(text, "GARM_PASSWORD has "+want)) {
			t.Errorf("%q: warnings %q, want %q", value, warnings, want)
		}
		if strings.Contains(text, "4711") {
			t.Errorf("the value is shown: %s", text)
		}
	}
}

// A base URL that ends in what is appended to it is refused with the one that was meant.
func TestAppendedPaths(t *testing.T) {
	t.Parallel()
	for raw, meant := range map[string]string{
		"http://garm.example.com/api/v1":            "http://garm.example.com",
		"http://garm.example.com/api/v1/":           "http://garm.example.com",
		"https://example.com/garm/api/v1/metadata":  "https://example.com/garm",
		"https://example.com/garm/api/v1/callbacks": "https://example.com/garm",
		"https://example.com/webhooks":              "https://example.com",
		"https://example.com/agent/":                "https://example.com",
		"https://example.com/ui":                    "https://example.com",
		"https://example.com/garm":                  "",
		"https://example.com/myagent":               "",
		"https://example.com/":                      "",
	} {
		for variable, command := range map[string]string{"GARM_BASE_URL": CmdRun, "GARM_SERVER": CmdInit} {
			_, _, err := Read(command, nil, Environment{variable + "=" + raw})
			if meant == "" && err != nil || meant != "" && (err == nil || !strings.Contains(err.Error(), "cannot use "+variable) || !strings.HasSuffix(err.Error(), "set it to "+meant)) {
				t.Errorf("%s=%s: %v, want %q", variable, raw, err, meant)
			}
		}
	}
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := testgarm.Config(t, dir, func(s *testgarm.Settings) { s.Port = 9997 })
	plain, err := garmconfig.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	provided := *plain
	provided.Providers = 1
	for _, c := range []struct {
		base   string
		config *garmconfig.Config
		want   string
	}{
		{"http://localhost:9997", plain, ""},
		{"http://localhost:9997", &provided, "names localhost"},
		{"http://127.0.0.5:9997", &provided, "names 127.0.0.5"},
		{"http://[::1]:9997", &provided, "names ::1"},
		{"http://0.0.0.0:9997", &provided, "names 0.0.0.0"},
		{"http://garm.example.com:9997", &provided, ""},
		{"https://garm.example.com:9997", plain, "no use_tls"},
		{"https://garm.example.com", plain, ""},
		{"", &provided, ""},
	} {
		s := Settings{BaseURL: c.base}
		got := s.Remarks(c.config)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s: %q, want %q", c.base, got, c.want)
		}
	}
}
