package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of our own imports.
const module = "garm-entrypoint/"

// room is a folder with Go code: the floor that it stands on, and what of the standard library and others it must not
// know. It may import what stands on a lower floor.
type room struct {
	floor int
	// only, when it is not nil, names all that it may import of ours.
	only []string
	// never names packages that it must not import.
	never []string
}

// Who knows no processes, and who knows no HTTP.
var (
	processes = []string{"os/exec", "os/signal", "syscall", "golang.org/x/sys/unix"}
	network   = []string{"net/http", "net"}
)

// rooms is the house, from the roof down. A folder stands for those below it that are not named themselves.
var rooms = map[string]room{
	"entrypoint": {floor: 9}, // main

	"entrypoint/boot":      {floor: 6},
	"entrypoint/remote":    {floor: 6, never: processes},
	"entrypoint/status":    {floor: 5, never: processes},
	"entrypoint/settings":  {floor: 4, never: processes},
	"entrypoint/provision": {floor: 3, only: []string{"entrypoint/garmapi"}, never: []string{"os/exec", "os/signal"}},
	// Others import these two: nothing of PID 1 may come along.
	"entrypoint/initializer": {floor: 3, only: []string{"entrypoint/garmapi"}, never: slices.Concat(processes, []string{"os"})},
	"entrypoint/garmapi":     {floor: 2, only: []string{}, never: slices.Concat(processes, []string{"os"})},

	"entrypoint/early":      {floor: 1, only: []string{"supervisor/threads"}},
	"entrypoint/state":      {floor: 1, never: network},
	"entrypoint/garmconfig": {floor: 1},
	"supervisor":            {floor: 0, only: []string{"supervisor"}, never: slices.Concat(network, []string{"os/exec"})},
	"image":                 {floor: 0, only: []string{}},
	"docs":                  {floor: 0, only: []string{}},
	"internal":              {floor: 0, only: []string{"internal"}, never: nil},
	// Tools of the tests, which may look into the house: nothing of it imports them.
	"internal/testgarm": {floor: 10},
	"internal/bench":    {floor: 11},
	"hack":              {floor: 11, only: []string{"internal"}},
}

// roomOf returns the nearest folder of the table.
func roomOf(folder string) (string, bool) {
	for ; folder != "." && folder != ""; folder = filepath.Dir(folder) {
		if _, named := rooms[folder]; named {
			return folder, true
		}
		if filepath.Dir(folder) == "entrypoint" {
			return "", false // main is no attic: a folder below it needs a floor of its own
		}
	}
	return "", false
}

// Between folders every arrow runs down.
func TestFloors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for folder, imports := range importsOf(t, "..") {
		name, known := roomOf(folder)
		if !known {
			t.Errorf("%s has no floor: give it one in rooms, below whoever imports it, and say its one job in its doc.go", folder)
			continue
		}
		seen[name] = true
		for _, fault := range faultsOfRoom(name, imports) {
			t.Errorf("%s %s", folder, fault)
		}
	}
	for _, name := range []string{"entrypoint", "entrypoint/boot", "entrypoint/garmapi", "supervisor", "internal"} {
		if !seen[name] {
			t.Errorf("found nothing in %s: is the test still looking at the house?", name)
		}
	}
}

// faultsOfRoom says what of these imports a room must not have.
func faultsOfRoom(name string, imports []string) (faults []string) {
	r := rooms[name]
	for _, path := range imports {
		ours, isOurs := strings.CutPrefix(path, module)
		if !isOurs {
			if slices.Contains(r.never, path) {
				faults = append(faults, "imports "+path+", of which it must know nothing")
			}
			continue
		}
		to, known := roomOf(ours)
		inside := to == name
		switch {
		case !known:
			faults = append(faults, "imports "+ours+", which has no floor")
		case r.only != nil && !slices.ContainsFunc(r.only, func(o string) bool { return ours == o || strings.HasPrefix(ours, o+"/") }):
			faults = append(faults, "imports "+ours+", and may import only "+strconv.Quote(strings.Join(r.only, " ")))
		case !inside && rooms[to].floor >= r.floor:
			faults = append(faults, "imports "+ours+": an arrow upward, or to a neighbour on the same floor")
		}
	}
	return faults
}

// importsOf returns what the packages below a folder import, tests left out, by folder. Nested modules are other
// houses.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (folder == "examples" || d.Name() == "testdata" || len(d.Name()) > 2 && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder = filepath.Dir(folder)
		all[folder] = append(all[folder], "")
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			all[folder] = append(all[folder], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range all {
		slices.Sort(all[folder])
		all[folder] = slices.Compact(all[folder])[1:]
	}
	return all
}

// The test sees what it is there for.
func TestFloorsAreSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		room string
		path string
		good bool
	}{
		"down":                        {"entrypoint/boot", module + "entrypoint/initializer", true},
		"up":                          {"entrypoint/settings", module + "entrypoint/boot", false},
		"across":                      {"entrypoint/boot", module + "entrypoint/remote", false},
		"from internal":               {"internal", module + "entrypoint/garmconfig", false},
		"from a test helper":          {"internal/testgarm", module + "entrypoint/garmconfig", true},
		"to a test helper":            {"entrypoint/boot", module + "internal/testgarm", false},
		"the client to what is ours":  {"entrypoint/garmapi", module + "internal/durable", false},
		"the client to processes":     {"entrypoint/garmapi", "os/exec", false},
		"PID 1 to HTTP":               {"supervisor", "net/http", false},
		"PID 1 to its own":            {"supervisor", module + "supervisor/signals", true},
		"PID 1 to the project":        {"supervisor", module + "internal/durable", false},
		"to a folder without a floor": {"entrypoint", module + "entrypoint/attic", false},
	} {
		if faults := faultsOfRoom(c.room, []string{c.path}); (len(faults) == 0) != c.good {
			t.Errorf("%s: %q", name, faults)
		}
	}
	for folder, known := range map[string]bool{"entrypoint/attic": false, "attic": false, "supervisor/signals": true, "internal/new": true} {
		if _, got := roomOf(folder); got != known {
			t.Errorf("%s has a floor: %t", folder, got)
		}
	}
}
