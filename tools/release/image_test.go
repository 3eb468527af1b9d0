package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const commitDate = "2026-01-31T12:00:00+01:00"

// buildImage runs "release image" for a copy of testdata/program in a new folder. It returns the output folder and the
// digest that the command printed.
func buildImage(t *testing.T) (out, digest string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "a folder of its own")
	if err := os.CopyFS(source, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "out")
	var printed strings.Builder
	err := run(t.Context(), []string{"image", "--source", source, "--program", ".", "--out", out, "--version", "v1.2.3", "--commit", "c0ffee", "--date", commitDate}, &printed)
	if err != nil {
		t.Fatal(err)
	}
	return out, strings.TrimSpace(printed.String())
}

func TestTwoBuildsHaveOneDigest(t *testing.T) {
	_, first := buildImage(t)
	_, second := buildImage(t)
	if first != second || !strings.HasPrefix(first, "sha256:") {
		t.Errorf("digests %q and %q, want the same", first, second)
	}
}

// readLayout returns the index of the OCI image layout in a folder, and its manifest. It fails the test if the layout is not
// valid. dir contains the elements of the folder's path.
func readLayout(t *testing.T, dir ...string) (v1.ImageIndex, *v1.IndexManifest) {
	t.Helper()
	path, err := layout.FromPath(filepath.Join(dir...))
	if err != nil {
		t.Fatal(err)
	}
	top, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(top); err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return top, manifest
}

func TestImage(t *testing.T) {
	out, digest := buildImage(t)
	top, manifest := readLayout(t, out, "image")
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest.String() != digest {
		t.Fatalf("the layout has %v, want only %s, so that a client need not choose an image", manifest.Manifests, digest)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	for _, m := range manifest.Manifests {
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if m.Platform == nil || config.Architecture != m.Platform.Architecture {
			t.Fatalf("platform %v of an image for %s", m.Platform, config.Architecture)
		}
		if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/fulcrum"}) || len(config.Config.Cmd) != 0 {
			t.Errorf("user %q, entry point %q, command %q; want a number that is not root, and the controller without arguments", config.Config.User, config.Config.Entrypoint, config.Config.Cmd)
		}
		files := imageFiles(t, img)
		want := []string{
			"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt", "fulcrum",
			"tmp/", "usr/", "usr/share/", "usr/share/sbom/", "usr/share/sbom/fulcrum.cdx.json",
		}
		if got := sortedNames(files); !slices.Equal(got, want) {
			t.Errorf("files\n%q\nwant\n%q", got, want)
		}
		program, err := elf.NewFile(bytes.NewReader(files["fulcrum"]))
		if err != nil {
			t.Fatal(err)
		}
		if program.Machine != machines[config.Architecture] {
			t.Errorf("%s has a program for %v", config.Architecture, program.Machine)
		}
		if _, err := program.DynamicSymbols(); !errors.Is(err, elf.ErrNoSymbols) {
			t.Errorf("%s: the program is linked dynamically, but the image has no libraries (%v)", config.Architecture, err)
		}
		if n := bytes.Count(files["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 50 {
			t.Errorf("%d certificate authorities, want at least 50", n)
		}
		beside, err := os.ReadFile(filepath.Join(out, "sbom-linux-"+config.Architecture+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(beside, files["usr/share/sbom/fulcrum.cdx.json"]) {
			t.Errorf("%s: the SBOM file differs from the SBOM in the image", config.Architecture)
		}
		delete(machines, config.Architecture)
	}
	if len(machines) != 0 {
		t.Errorf("no image for %v", machines)
	}
}

// imageFiles returns the content of all files of an image, by name. It checks that each file has the time of the commit and
// belongs to root.
func imageFiles(t *testing.T, img v1.Image) map[string][]byte {
	t.Helper()
	want, _ := time.Parse(time.RFC3339, commitDate)
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		for tr := tar.NewReader(r); ; {
			h, err := tr.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !h.ModTime.Equal(want) || h.Uid != 0 || h.Uname != "" {
				t.Errorf("%s has time %v, owner %d %q", h.Name, h.ModTime, h.Uid, h.Uname)
			}
			if out[h.Name], err = io.ReadAll(tr); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
	}
	return out
}

func sortedNames(files map[string][]byte) []string {
	var out []string
	for n := range files {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// TestSBOM checks that the SBOM of a program lists modules from which it is built. The program is the test program, and the
// test checks for four of its modules.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := readProgram(v1.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}, self, release{version: "v1.2.3", date: time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := json.Unmarshal(p.sbom, &bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		got = append(got, c.Name)
		if c.Version == "" || c.PackageURL != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("%s has version %q and address %q", c.Name, c.Version, c.PackageURL)
		}
	}
	for _, want := range []string{"std", "github.com/google/go-containerregistry", "github.com/CycloneDX/cyclonedx-go", "golang.org/x/crypto/x509roots/fallback"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in the list %q", want, got)
		}
	}
	if bom.Metadata.Component.Version != "v1.2.3" || bom.Metadata.Component.Hashes == nil {
		t.Errorf("the program itself is %+v", bom.Metadata.Component)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	taken := t.TempDir()
	for _, c := range []struct{ want, args string }{
		{"--out is empty", ""},
		{"exists", "--out " + taken},
		{"--date \"yesterday\"", "--out x --date yesterday"},
		{"--platforms has \"arm64\"", "--out x --platforms linux/amd64,arm64"},
		{"--version \"1;rm\"", "--out x --version 1;rm"},
	} {
		err := run(t.Context(), append([]string{"image"}, strings.Fields(c.args)...), io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
}
