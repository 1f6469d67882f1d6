package postmortem

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupDirs returns where the control group of this process is mounted that the controller belongs to, the innermost
// directory first, as far up as can be seen; v2 tells which version's file names hold there. root is "/", or where a
// test keeps its files. See cgroups(7).
func cgroupDirs(root, controller string) (dirs []string, v2 bool) {
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	mounts, _ := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	path, v2 := groupPath(string(groups), controller)
	if path == "" {
		return nil, false
	}
	for line := range strings.Lines(string(mounts)) {
		within, at, ok := parseMount(line, controller, v2)
		if !ok {
			continue
		}
		// A container without a namespace of its own for control groups sees its group's full name, and a mount whose
		// root is that group.
		rest, below := strings.CutPrefix(path, strings.TrimSuffix(within, "/"))
		if !below || rest != "" && rest[0] != '/' {
			rest = ""
		}
		top := filepath.Join(root, at)
		for dir := filepath.Join(top, rest); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == top || len(dir) <= len(top) {
				return dirs, v2
			}
		}
	}
	return nil, v2
}

// groupPath finds the group's name in /proc/self/cgroup: of the hierarchy with that controller, else of v2.
func groupPath(groups, controller string) (path string, v2 bool) {
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if hasWord(fields[1], controller) {
			return fields[2], false
		}
		if fields[0] == "0" && fields[1] == "" {
			path, v2 = fields[2], true
		}
	}
	return path, v2
}

// parseMount reads a line of /proc/self/mountinfo: the mount's root within the hierarchy, and where it is mounted. ok
// is false for others than the one asked for.
func parseMount(line, controller string, v2 bool) (root, at string, ok bool) {
	before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	if !found || len(fields) < 5 || len(kind) < 3 {
		return "", "", false
	}
	if v2 {
		return fields[3], fields[4], kind[0] == "cgroup2"
	}
	return fields[3], fields[4], kind[0] == "cgroup" && hasWord(kind[2], controller)
}

func hasWord(list, word string) bool {
	for _, one := range strings.Split(list, ",") {
		if one == word {
			return true
		}
	}
	return false
}

// readNumber is the number in a file that holds one; "max", and what cannot be read, is no limit.
func readNumber(dir, name string) uint64 {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// readCount is the number behind a word in a file of "word number" lines; 0 when there is none.
func readCount(dir, name, word string) uint64 {
	data, _ := os.ReadFile(filepath.Join(dir, name))
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, word+" "); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
			return n
		}
	}
	return 0
}
