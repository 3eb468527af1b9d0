package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// createRelease creates a release with the small program in testdata/program, and with the chart and the manifests of the
// repository. It returns the output folder.
func createRelease(t *testing.T) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "a folder of its own")
	if err := os.CopyFS(source, os.DirFS("testdata/program")); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	at := "linux/amd64,linux/arm64,windows/amd64"
	if own := runtime.GOOS + "/" + runtime.GOARCH; !strings.Contains(at, own) {
		at += "," + own
	}
	err := run(t.Context(), []string{"--root", "../..", "--source", source, "--program", ".", "--out", out, "--version", "v0.9.0", "--commit", "c0ffee", "--date", commitDate, "--platforms", at}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fileDigests returns the SHA-256 digests of all files in a folder and its subfolders, by path from the folder.
func fileDigests(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, p))
		out[p] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readFile(t *testing.T, name ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// unpackArchive returns the content of the files in a tar.gz archive, by name.
func unpackArchive(t *testing.T, data []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[h.Name] = string(text)
	}
}

func TestTwoReleasesAreTheSame(t *testing.T) {
	first, second := fileDigests(t, createRelease(t)), fileDigests(t, createRelease(t))
	for name, sum := range first {
		if second[name] != sum {
			t.Errorf("%s differs between the two releases", name)
		}
	}
	if len(first) != len(second) || len(first) < 20 {
		t.Errorf("%d and %d files", len(first), len(second))
	}
}

func TestRelease(t *testing.T) {
	out := createRelease(t)
	files := fileDigests(t, out)

	// Checksums and provenance list every file for download with its digest.
	sums := map[string]string{}
	for line := range strings.Lines(string(readFile(t, out, "SHA256SUMS"))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sums[name] = sum
	}
	var statement struct {
		Type      string `json:"_type"`
		Subject   []provenanceSubject
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	if err := json.Unmarshal(readFile(t, out, "provenance.intoto.json"), &statement); err != nil {
		t.Fatal(err)
	}
	stated := map[string]string{}
	for _, s := range statement.Subject {
		stated[s.Name] = s.Digest["sha256"]
	}
	for name, sum := range files {
		if strings.Contains(name, "/") || name == "SHA256SUMS" {
			continue
		}
		if sums[name] != sum {
			t.Errorf("SHA256SUMS has %q for %s, but its digest is %s", sums[name], name, sum)
		}
		if name != "provenance.intoto.json" && stated[name] != sum {
			t.Errorf("the provenance has %q for %s, but its digest is %s", stated[name], name, sum)
		}
	}
	if statement.Type != "https://in-toto.io/Statement/v1" || statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != "c0ffee" {
		t.Errorf("the statement is %+v", statement)
	}

	// The image is complete. The chart has the digest of the image, the version of the release, and every file of
	// charts/fulcrum.
	_, index := readLayout(t, out, "image")
	chart := unpackArchive(t, readFile(t, out, "fulcrum-0.9.0.tgz"))
	var values struct {
		Image struct{ Repository, Digest string }
	}
	var about struct{ Version, AppVersion string }
	if err := yaml.Unmarshal([]byte(chart["fulcrum/values.yaml"]), &values); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(chart["fulcrum/Chart.yaml"]), &about); err != nil {
		t.Fatal(err)
	}
	var names publishSettings
	if err := yaml.UnmarshalStrict(readFile(t, "release.yaml"), &names); err != nil {
		t.Fatal(err)
	}
	if values.Image.Digest != index.Manifests[0].Digest.String() || values.Image.Repository != names.Image || stated[names.Image] != index.Manifests[0].Digest.Hex {
		t.Errorf("the chart has the image %+v, but the digest of the image is %s", values.Image, index.Manifests[0].Digest)
	}
	if about.Version != "0.9.0" || about.AppVersion != "v0.9.0" {
		t.Errorf("the chart is %+v", about)
	}
	for name := range fileDigests(t, "../../charts/fulcrum") {
		if _, ok := chart["fulcrum/"+name]; !ok {
			t.Errorf("the chart lacks %s", name)
		}
	}
	charts, list := readLayout(t, out, "chart")
	img, err := charts.Image(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Config.MediaType != chartConfigType || len(manifest.Layers) != 1 || manifest.Layers[0].MediaType != chartContentType || manifest.Layers[0].Digest.Hex != files["fulcrum-0.9.0.tgz"] {
		t.Errorf("the artefact of the chart is %+v", manifest)
	}

	// The release has an archive with the program for each platform, and the krew manifest has their URIs and digests.
	var plugin struct {
		Spec struct {
			Version   string
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, out, "fulcrum.yaml"), &plugin); err != nil {
		t.Fatal(err)
	}
	for _, p := range plugin.Spec.Platforms {
		name := strings.TrimPrefix(p.URI, names.Downloads+"/v0.9.0/")
		if files[name] != p.SHA256 {
			t.Errorf("the krew manifest has %s with digest %s, but the digest of the file is %q", p.URI, p.SHA256, files[name])
		}
		if name, ok := strings.CutSuffix(name, ".tar.gz"); ok {
			if got := unpackArchive(t, readFile(t, out, name+".tar.gz")); got[p.Bin] == "" || got["LICENSE"] == "" {
				t.Errorf("%s has %d files", name, len(got))
			}
			continue
		}
		z, err := zip.OpenReader(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == p.Bin }) {
			t.Errorf("%s lacks %s", name, p.Bin)
		}
		z.Close()
	}
	if len(plugin.Spec.Platforms) < 3 || plugin.Spec.Version != "v0.9.0" {
		t.Errorf("the plugin is %+v", plugin)
	}
	if got := unpackArchive(t, readFile(t, out, "completions.tar.gz")); got["fulcrum.zsh"] != "# completion for zsh\n" || len(got) != len(completionShells) {
		t.Errorf("completions: %q", got)
	}
	for name, want := range map[string]string{"crds.yaml": "globalaccelerators.aga.k8s.aws", "rbac.yaml": "kind: ClusterRole", "webhooks.yaml": "ValidatingWebhookConfiguration", "CHANGELOG.md": "# v0.9.0\n", "differences.md": "#"} {
		if !strings.Contains(string(readFile(t, out, name)), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	if got := unpackArchive(t, readFile(t, out, "iam-policies.tar.gz")); got["policy.json"] == "" || got["accelerators.json"] == "" {
		t.Errorf("iam-policies.tar.gz has %d files, but lacks policy.json or accelerators.json", len(got))
	}
}

func TestInvalidReleasesAreRefused(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "release.yaml")
	if err := os.WriteFile(empty, []byte("image: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--out x --version 0.9.0":                                        "write it as v0.9.0",
		"--out x --version v0.9":                                         "write it as v0.9.0",
		"--out x --version v0.9.0 --root ../.. --places " + empty:        "is empty",
		"--out x --version v0.9.0 --root ../.. --platforms darwin/arm64": "has no linux platform",
		"--version v0.9.0":                                               "--out is empty",
		"images":                                                         "unknown command",
	} {
		err := run(t.Context(), strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
