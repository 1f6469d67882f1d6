package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// top is the top of the repository, from here.
const top = "../"

// pages returns the text of every page by its path from the top: the README's, those beside this file, and those of the
// examples.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range []string{"README.md", "CHANGELOG.md", "docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(top, root), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".md") {
				return err
			}
			text, err := os.ReadFile(path)
			all[strings.TrimPrefix(path, top)] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// prose is a page without its blocks of code, where neither a heading nor a link is one.
func prose(text string) string {
	return regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
}

// anchors returns the anchors of a page's headings, as GitHub makes them: lower case, blanks as dashes, of other signs
// none, and a number behind one that was there already.
func anchors(text string) map[string]bool {
	made := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose(text), -1) {
		anchor := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchor = strings.ReplaceAll(anchor, " ", "-")
		if made[anchor] {
			anchor += "-1"
		}
		made[anchor] = true
	}
	return made
}

// links returns where a page's links lead: what is in ](...), and of <...> nothing, which is for whole addresses.
func links(text string) (to []string) {
	for _, m := range regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(prose(text), -1) {
		to = append(to, m[1])
	}
	return to
}

// broken says what is wrong with a link on a page of those, or nothing.
func broken(all map[string]string, page, link string) string {
	if strings.HasPrefix(link, "https://") {
		return ""
	}
	path, anchor, _ := strings.Cut(link, "#")
	target := page
	if path != "" {
		target = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(top + target); err != nil {
		return "there is no file " + target
	}
	if anchor == "" {
		return ""
	}
	if text, known := all[target]; !known || !anchors(text)[anchor] {
		return "there is no heading for #" + anchor + " in " + target
	}
	return ""
}

// TestLinks: every link that stays in the repository leads somewhere.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	checked := 0
	for page, text := range all {
		for _, link := range links(text) {
			checked++
			if fault := broken(all, page, link); fault != "" {
				t.Errorf("%s links to %s: %s", page, link, fault)
			}
		}
	}
	if checked < 40 {
		t.Errorf("%d links were checked only: are the pages still read rightly?", checked)
	}
}

// TestLinksFindFaults holds the check above against links whose faults are known.
func TestLinksFindFaults(t *testing.T) {
	t.Parallel()
	all := map[string]string{"docs/README.md": "# The pages\n## Twice, and so\n## Twice, and so\n```\n# no heading\n```\n[a](x.md) `b`\n```\n[c](y.md)\n```\n"}
	if got := links(all["docs/README.md"]); len(got) != 1 || got[0] != "x.md" {
		t.Errorf("the links are %v, want x.md alone", got)
	}
	for link, good := range map[string]bool{
		"https://example.com/nowhere": true,
		"#the-pages":                  true,
		"#twice-and-so":               true,
		"#twice-and-so-1":             true,
		"#no-heading":                 false,
		"README.md#the-pages":         true,
		"README.md#elsewhere":         false,
		"no-such-page.md":             false,
		"doc.go":                      true,
		"doc.go#L1":                   false,
		"../examples":                 true,
	} {
		if fault := broken(all, "docs/README.md", link); (fault == "") != good {
			t.Errorf("%s: %q", link, fault)
		}
	}
}

// TestEveryPageIsLinked: the README leads to each page, and so does the list of pages.
func TestEveryPageIsLinked(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for page := range all {
		dir, name := filepath.Split(page)
		if dir != "docs/" || name == "README.md" {
			continue
		}
		if !strings.Contains(all["README.md"], "]("+page) {
			t.Errorf("the README does not link to %s", page)
		}
		if !strings.Contains(all["docs/README.md"], "]("+name) {
			t.Errorf("docs/README.md does not link to %s", page)
		}
	}
}

// TestReadmeIsTheFrontDoor: whoever comes first reads it to the end.
func TestReadmeIsTheFrontDoor(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(pages(t)["README.md"], "\n"); lines > 180 {
		t.Errorf("the README has %d lines, and 180 are enough: a subject of its own goes to a page of its own", lines)
	}
}

// sources is the text of our Go files, tests left out.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// quoted returns the lines of ours that a page quotes: those in pasted logs, and the beginnings of rows in the table of
// messages.
func quoted(text string) (messages []string) {
	for _, m := range regexp.MustCompile(`msg=("(?:[^"\\]|\\.)*"|\S+) program=garm-entrypoint`).FindAllStringSubmatch(text, -1) {
		messages = append(messages, strings.Trim(m[1], `"`))
	}
	_, rows, _ := strings.Cut(text, "<!-- messages -->\n")
	rows, _, _ = strings.Cut(rows, "<!-- /messages -->\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(rows, -1) {
		messages = append(messages, m[1])
	}
	return messages
}

// TestMessages: every line of ours that a page quotes can still come.
func TestMessages(t *testing.T) {
	t.Parallel()
	code := sources(t)
	found := map[string]int{}
	for page, text := range pages(t) {
		for _, message := range quoted(text) {
			found[page]++
			for _, part := range regexp.MustCompile(`: | … `).Split(message, -1) { // what is put together, and what varies
				if !strings.Contains(code, part) {
					t.Errorf("%s quotes %q, which no code says", page, part)
				}
			}
		}
	}
	if found["docs/troubleshooting.md"] < 20 || found["README.md"] < 8 {
		t.Errorf("of our lines are quoted: %v: are the pages still read rightly?", found)
	}
}

// TestSystemdCommands: how to install the unit is said on its page as in the unit's own head, which a test carries out.
func TestSystemdCommands(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(top + "examples/systemd/garm.service")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(pages(t)["docs/systemd.md"], "```sh\n")
	block, _, found := strings.Cut(block, "```")
	if want := "#   " + strings.ReplaceAll(strings.TrimSpace(block), "\n", "\n#   ") + "\n#\n"; !found || !strings.Contains(string(unit), want) {
		t.Errorf("the commands of docs/systemd.md are not those of the unit's head: %s", want)
	}
}

// TestMakeTargets: every call of make that a page names is in the Makefile.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(top + "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for page, text := range pages(t) {
		for _, m := range regexp.MustCompile("(?m)(?:`|^)make ([a-z-]+)").FindAllStringSubmatch(text, -1) {
			named++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which there is not", page, m[1])
			}
		}
	}
	if named < 15 {
		t.Errorf("%d calls of make are named only: are the pages still read rightly?", named)
	}
}
