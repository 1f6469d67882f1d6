package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"garm-entrypoint/internal/testgarm"
)

// copyTree copies what a release is made of to another directory, and returns that.
func copyTree(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for _, part := range []string{"entrypoint", "supervisor", "image", "internal", "hack", "examples", "docs"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS("../"+part)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "Makefile", "LICENSE", "README.md", "CHANGELOG.md"} {
		copyFile(t, "../"+file, filepath.Join(dir, file))
	}
	return dir
}

// makeIn runs make in a directory.
func makeIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("make", args...)
	cmd.Dir = dir
	if got := run(cmd); got.Code != 0 {
		t.Fatalf("make %s: exit code %d: %s%s", strings.Join(args, " "), got.Code, got.Stdout, got.Stderr)
	}
}

// TestRelease makes a release in two directories and wants the same bytes, in archives that hold what they should.
func TestRelease(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compiles for another architecture, which takes minutes")
	}
	var sums []string
	dirs := []string{copyTree(t, "one"), copyTree(t, "another place/with a blank")}
	for _, dir := range dirs {
		makeIn(t, dir, "release", "VERSION=v1.2.3", "SOURCE_DATE_EPOCH=1700000000")
		text, err := os.ReadFile(filepath.Join(dir, "dist/SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ:\n%s%s", sums[0], sums[1])
	}
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = filepath.Join(dirs[0], "dist")
	if got := run(check); got.Code != 0 {
		t.Errorf("sha256sum --check: %s%s", got.Stdout, got.Stderr)
	}
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		name := "garm-entrypoint_v1.2.3_linux_" + arch
		files := unpack(t, filepath.Join(dirs[0], "dist", name+".tar.gz"))
		binary := files[name+"/garm-entrypoint"]
		checkBinary(t, binary)
		if program, err := elf.NewFile(bytes.NewReader(binary)); err != nil || program.Machine != machine {
			t.Errorf("%s: the binary is for another machine, or none: %v", arch, err)
		}
		for _, file := range []string{"LICENSE", "README.md", "CHANGELOG.md", "garm.service", "docs/configuration.md"} {
			if len(files[name+"/"+file]) == 0 {
				t.Errorf("%s: %s is missing", arch, file)
			}
		}
	}
}

// unpack returns the files of a compressed archive by name, and wants nothing of this machine in its heads.
func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	if header, err := tar.NewReader(bytes.NewReader(plain.Bytes())).Next(); err != nil || header.ModTime.Unix() != 1700000000 ||
		header.Uid != 0 || header.Gid != 0 || header.Uname != "" || !r.ModTime.IsZero() {
		t.Errorf("%s: header %+v, %v: want the given time and owner 0", path, header, err)
	}
	return untar(t, plain.Bytes())
}

// TestReproducibleImage builds the image's binary here: another directory, another build cache, no container, and the
// same bytes. Both are by one Go release, as the stand-in for the Go image is this host's toolchain.
func TestReproducibleImage(t *testing.T) {
	t.Parallel()
	image, dir := needImage(t), t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	makeIn(t, "..", "build", "VERSION=test", "OUT="+here)
	name := newName()
	mustDocker(t, "create", "--name", name, image)
	t.Cleanup(func() { docker("container", "rm", name) })
	mustDocker(t, "cp", name+":/usr/local/bin/garm-entrypoint", there)
	if got := run(exec.Command("cmp", here, there)); got.Code != 0 {
		t.Errorf("the image's binary is not that of make build: %s%s", got.Stdout, got.Stderr)
	}
}

// TestBuildInfo wants the binary to tell what it is made of: go version -m shows go.mod's pins.
func TestBuildInfo(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "garm-entrypoint")
	makeIn(t, "..", "build", "VERSION=v1.2.3", "OUT="+binary)
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]string{}
	for _, module := range info.Deps {
		built[module.Path] = module.Version
	}
	for _, module := range []string{"github.com/cloudbase/garm", "github.com/cloudbase/garm-provider-common", "github.com/BurntSushi/toml",
		"golang.org/x/sync", "golang.org/x/sys"} {
		pin := find(t, "../go.mod", `(?m)^\s+`+module+` (v\S+)`)
		if built[module] != pin {
			t.Errorf("the binary is built with %s %q, go.mod pins %s", module, built[module], pin)
		}
	}
	for _, setting := range info.Settings {
		if setting.Key == "CGO_ENABLED" && setting.Value != "0" || strings.HasPrefix(setting.Key, "vcs") {
			t.Errorf("built with %s=%s", setting.Key, setting.Value)
		}
	}
	if got := run(exec.Command(binary, "version")); got.Stdout != "garm-entrypoint v1.2.3\n" {
		t.Errorf("version says %q", got.Stdout)
	}
}

// TestSBOM wants the list of components to be that of the binary, the Go release and garm's client included.
func TestSBOM(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: downloads and compiles the tool")
	}
	dir := copyTree(t, "sbom")
	makeIn(t, dir, "sbom", "VERSION=v1.2.3")
	text, err := os.ReadFile(filepath.Join(dir, "dist/garm-entrypoint.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	type component struct{ Name, Version string }
	var sbom struct {
		BOMFormat  string `json:"bomFormat"`
		Metadata   struct{ Component component }
		Components []component
	}
	if err := json.Unmarshal(text, &sbom); err != nil {
		t.Fatal(err)
	}
	if sbom.BOMFormat != "CycloneDX" || sbom.Metadata.Component != (component{"garm-entrypoint", "v1.2.3"}) {
		t.Errorf("it is a %s of %+v", sbom.BOMFormat, sbom.Metadata.Component)
	}
	if !slices.Contains(sbom.Components, component{"github.com/cloudbase/garm", testgarm.Version(t)}) {
		t.Error("garm is not among the components")
	}
	if !slices.ContainsFunc(sbom.Components, func(c component) bool { return c.Name == "std" }) {
		t.Error("Go's standard library is not among the components")
	}
}
