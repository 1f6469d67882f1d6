package image_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestBinaryTarget holds that the target for other people's images has one file, so that COPY --from takes nothing else along.
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
		for name := range untar(t, files[layer]) {
			got = append(got, name)
		}
	}
	if want := []string{"garm-entrypoint"}; !slices.Equal(got, want) {
		t.Errorf("the image holds %q: want %q", got, want)
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
