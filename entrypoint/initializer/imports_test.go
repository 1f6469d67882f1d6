package initializer_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Who imports this package gets nothing of PID 1: no supervisor, no signal handling, no process but his own, and of
// this project garmapi only, which is held to the same.
func TestImportsNothingOfPID1(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.Module.Path}}{{end}} {{.ImportPath}} {{.Imports}}", ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		module, rest, _ := strings.Cut(line, " ")
		path, imports, _ := strings.Cut(rest, " ")
		if module == "garm-entrypoint" {
			own++
			if path != "garm-entrypoint/entrypoint/initializer" && path != "garm-entrypoint/entrypoint/garmapi" {
				t.Errorf("imports %s", path)
			}
			for _, banned := range []string{"os", "os/signal", "os/exec", "syscall", "golang.org/x/sys/unix"} {
				for _, i := range strings.Fields(strings.Trim(imports, "[]")) {
					if i == banned {
						t.Errorf("%s imports %s", path, i)
					}
				}
			}
		}
		if path == "os/signal" {
			t.Errorf("something that is imported imports os/signal")
		}
	}
	if own != 2 {
		t.Errorf("%d packages of this project, want this one and garmapi", own)
	}
}

// There is no global state: no variable of the package is ever written.
func TestHasNoGlobalState(t *testing.T) {
	for _, dir := range []string{".", "../garmapi"} {
		t.Run(dir, func(t *testing.T) { hasNoGlobalState(t, dir) })
	}
}

func hasNoGlobalState(t *testing.T, dir string) {
	out, err := exec.Command("go", "doc", "-u", "-all", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, vars, _ := strings.Cut(string(out), "\nVARIABLES\n")
	vars, _, _ = strings.Cut(vars, "\nFUNCTIONS\n")
	for _, line := range strings.Split(vars, "\n") {
		name, is := strings.CutPrefix(line, "var ")
		if !is {
			continue
		}
		name, _, _ = strings.Cut(name, " ")
		if !strings.HasPrefix(strings.ToLower(name), "err") && name != "verdicts" {
			t.Errorf("a variable that is neither an error nor a list of words: %s", line)
		}
	}
}
