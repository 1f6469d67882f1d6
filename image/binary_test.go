package image_test

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBinaryTarget holds that the target for other people's images has one file, so that COPY --from takes nothing else
// along.
func TestBinaryTarget(t *testing.T) {
	t.Parallel()
	needEngine(t)
	if err := buildBinary(); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	mustDocker(t, "image", "save", "--output", archive, binaryName)
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, data)

	var manifest []struct{ Layers []string }
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest.json: %v: %s", err, files["manifest.json"])
	}
	var got []string
	for _, layer := range manifest[0].Layers {
		for name, content := range untar(t, files[layer]) {
			got = append(got, name)
			checkBinary(t, content)
		}
	}
	if want := []string{"garm-entrypoint"}; !slices.Equal(got, want) {
		t.Errorf("the image holds %q: want %q", got, want)
	}
}

// maxBinary is the largest size of the stripped binary, in bytes.
const maxBinary = 12 << 20

// checkBinary wants a static program (no interpreter, so no loader and no library) that is not too large.
func checkBinary(t *testing.T, content []byte) {
	t.Helper()
	if len(content) > maxBinary {
		t.Errorf("the binary has %d bytes: want at most %d", len(content), maxBinary)
	}
	program, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) || program.Section(".symtab") != nil {
		t.Error("the binary is not static, or not stripped")
	}
}

// untar returns the entries of an archive by name.
func untar(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	entries := map[string][]byte{}
	for archive := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		if entries[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
