package provision_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"garm-entrypoint/entrypoint/provision"
)

// tokenOf declares credentials with the given lines, and returns what garm would be sent as their token.
func tokenOf(t *testing.T, variables map[string]string, lines string, files map[string]string) (token string, faults []string) {
	t.Helper()
	all := map[string]string{"a.toml": "[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\n" + lines}
	for name, text := range files {
		all[name] = text
	}
	declared, faults, _ := parse(t, variables, all)
	if faults != nil {
		return "", faults
	}
	fake := newFakeAPI()
	fake.apply(t, provision.NewMemory(), declared, provision.PlanOptions{})
	for _, w := range fake.written {
		if w.path == "/github/credentials" {
			token, _ = w.body["pat"].(map[string]any)["oauth2_token"].(string)
		}
	}
	return token, nil
}

// A secret arrives as it is, whatever it is made of, in each of its forms. Nothing is interpolated.
func TestSecretForms(t *testing.T) {
	t.Parallel()
	printable := ""
	for r := rune(' '); r < 0x7f; r++ {
		printable += string(r)
	}
	for name, secret := range map[string]string{
		"dollars":   `a$b${HOME}$$c$(id)%{env.X}{{ .x }}`,
		"printable": printable,
		"unicode":   "schlüssel-鍵-🔑",
		"blanks":    "  a\tb  ",
		"lines":     "one\ntwo\r\nthree",
		"a CR":      "ends with CR\r", // no line end
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for end, file := range map[string]string{"LF": secret + "\n", "CRLF": secret + "\r\n", "none": secret} {
				if end == "LF" && name == "a CR" {
					continue // that is a CRLF
				}
				if got, faults := tokenOf(t, nil, "token_file = \"secrets/t\"\n", map[string]string{"secrets/t": file}); got != secret {
					t.Errorf("file, %s: %q, want %q %v", end, got, secret, faults)
				}
			}
			if got, faults := tokenOf(t, map[string]string{"T": secret}, "token_env = \"T\"\n", nil); got != secret {
				t.Errorf("variable: %q, want %q %v", got, secret, faults)
			}
			if got, faults := tokenOf(t, nil, "token = "+tomlString(secret)+"\n", nil); got != secret {
				t.Errorf("clear: %q, want %q %v", got, secret, faults)
			}
		})
	}
	if got, _ := tokenOf(t, nil, "token_file = \"t\"\n", map[string]string{"t": "x\n\n"}); got != "x\n" {
		t.Errorf("two line ends: %q", got)
	}
}

func tomlString(s string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
	return `"` + escape.Replace(s) + `"`
}

func TestSecretFaults(t *testing.T) {
	t.Parallel()
	const secret = "canary-of-a-fault"
	for name, c := range map[string]struct{ lines, want string }{
		"missing":        {"token_file = \"none\"\n", "a.toml:4 token_file: cannot read"},
		"empty file":     {"token_file = \"empty\"\n", "a.toml:4 token_file"},
		"only a line":    {"token_file = \"line\"\n", "a.toml:4 token_file"},
		"file and env":   {"token_file = \"t\"\ntoken_env = \"T\"\n", "a.toml:5 set one of token_file, token_env and token"},
		"file and clear": {"token_file = \"t\"\ntoken = \"" + secret + "\"\n", "a.toml:5 set one of"},
		"env and clear":  {"token = \"" + secret + "\"\ntoken_env = \"T\"\n", "a.toml:5 set one of"},
		"unset variable": {"token_env = \"NONE\"\n", "a.toml:4 the variable NONE is not set, or empty"},
		"empty variable": {"token_env = \"EMPTY\"\n", "a.toml:4 the variable EMPTY is not set, or empty"},
		"empty":          {"token = \"\"\n", "a.toml:4 token: it is empty"},
		"empty path":     {"token_file = \"\"\n", "a.toml:4 token_file: it is empty"},
		"a number":       {"token = 4711\n", "a.toml:4 token: it must be a string"},
		"binary":         {"token_file = \"binary\"\n", "a.toml:4 it is not valid UTF-8"},
		"no RSA key":     {"app_id = 1\ninstallation_id = 2\nprivate_key_file = \"t\"\n", "a.toml:6 private_key_file: it is no PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, faults := tokenOf(t, map[string]string{"T": secret, "EMPTY": ""}, c.lines,
				map[string]string{"t": secret + "\n", "empty": "", "line": "\r\n", "binary": secret + "\xff"})
			expectFaults(t, faults, []string{c.want})
			if text := strings.Join(faults, "\n"); strings.Contains(text, secret) || strings.Contains(text, "4711") {
				t.Errorf("the secret is in the fault: %s", text)
			}
		})
	}
}

// A secret in clear has one warning, for a file that everybody can read, which names the place and not the secret.
func TestSecretInClear(t *testing.T) {
	t.Parallel()
	text := "[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken = \"canary\"\n[[credentials]]\nname = \"d\"\nendpoint = \"github.com\"\ntoken = \"canary\"\n"
	path := write(t, t.TempDir(), "a.toml", text)
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o640: 0, 0o644: 1, 0o604: 1} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		declared := load(t, path)
		if len(declared.Warnings) != want {
			t.Errorf("%o: %q", mode, declared.Warnings)
		}
		for _, w := range declared.Warnings {
			if !strings.HasPrefix(w, path+":4: ") || !strings.Contains(w, "token_file") || strings.Contains(w, "canary") {
				t.Errorf("%o: %q", mode, w)
			}
		}
	}
}

// The names of variables that hold secrets are known, so that no child inherits them; those that are not set too.
func TestSecretVariables(t *testing.T) {
	t.Parallel()
	declared, _, _ := parse(t, map[string]string{"A": "x"}, map[string]string{"a.toml": "[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken_env = \"B\"\n" +
		"[[organization]]\nname = \"o\"\ncredentials = \"c\"\nwebhook_secret_env = \"A\"\n[[organization]]\nname = \"p\"\ncredentials = \"c\"\nwebhook_secret_env = \"A\"\n"})
	if got := strings.Join(declared.SecretVariables, " "); got != "A B" {
		t.Errorf("variables %q", got)
	}
}

// The digest changes with the files, the files that they name and the secrets, and with nothing else.
func TestDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "a.toml", "[[credentials]]\nname = \"c\"\nendpoint = \"github.com\"\ntoken_file = \"t\"\n[[credentials]]\nname = \"d\"\nendpoint = \"github.com\"\ntoken_env = \"T\"\n[[template]]\nname = \"t\"\nforge = \"gitea\"\nos_type = \"linux\"\nfile = \"s\"\n")
	write(t, dir, "t", "one")
	write(t, dir, "s", "one")
	variable := "one"
	digest := func() string {
		declared, err := provision.Load([]string{path}, provision.Sources{Variable: func(string) (string, bool) { return variable, true }})
		if err != nil {
			t.Fatal(err)
		}
		return declared.Digest
	}
	last := digest()
	if digest() != last {
		t.Error("it changes by itself")
	}
	for name, change := range map[string]func(){
		"secret file":   func() { write(t, dir, "t", "two") },
		"template file": func() { write(t, dir, "s", "two") },
		"variable":      func() { variable = "two" },
		"the file":      func() { appendTo(t, path, "# x\n") },
	} {
		change()
		now := digest()
		if now == last {
			t.Errorf("%s changed, and not the digest", name)
		}
		last = now
	}
	if strings.Contains(last, filepath.Base(dir)) {
		t.Error("it shows something")
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Dir(path), filepath.Base(path), string(data)+text)
}
