package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// defaultPlatforms is the default of the flag --platforms of a release. The image contains only the Linux platforms.
const defaultPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// publishSettings contains the values of tools/release/release.yaml: the registries and URLs of the release.
type publishSettings struct {
	Image     string `json:"image"`
	Charts    string `json:"charts"`
	Downloads string `json:"downloads"`
	Source    string `json:"source"`
	// UpgradesFrom are the versions from which upgrades, and downgrades back to them, are tested.
	UpgradesFrom []string `json:"upgradesFrom"`
}

// versionPattern matches a release version, such as v0.9.0 or v0.9.0-rc.1.
var versionPattern = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$`)

// fullRelease contains the settings and the files of a release.
type fullRelease struct {
	settings
	repositoryDir string // folder of the repository, with the chart and the manifests
	publishing    publishSettings
	files         map[string][]byte // content of the files of the release, by name
}

// makeRelease creates all files of a release in the folder of the flag --out.
func makeRelease(ctx context.Context, args []string, stdout io.Writer) error {
	a, err := parseRelease(args)
	if err != nil {
		return err
	}
	programs, err := buildAll(ctx, a.settings)
	if err != nil {
		return err
	}
	if err := a.addArchives(programs); err != nil {
		return err
	}
	digest, err := writeImage(a.outputDir, a.release, slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.platform.OS != "linux" }))
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return a.addChart(digest) },
		a.addManifests,
		func() error { return a.addCompletions(ctx, programs) },
		a.addKrewManifest,
		func() error { return a.addChangelog(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := a.addProvenance(digest); err != nil {
		return err
	}
	a.addChecksums()
	for name, data := range a.files {
		at := filepath.Join(a.outputDir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, data, 0o644)); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s is in %s, with the image %s\n", a.release.version, a.outputDir, digest)
	return nil
}

func parseRelease(args []string) (*fullRelease, error) {
	a := &fullRelease{files: map[string][]byte{}}
	var rest []string
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.StringVar(&a.repositoryDir, "root", ".", "folder of the repository")
	names := f.String("places", "", "file with the registries and URLs to publish to; tools/release/release.yaml of the repository if empty")
	for _, name := range []string{"source", "program", "out", "version", "commit", "date", "platforms"} {
		f.Func(name, "see release image --help", func(v string) error {
			rest = append(rest, "--"+name+"="+v)
			return nil
		})
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unknown command %q; use \"release image\" for the image alone, or no command for the whole release", f.Arg(0))
	}
	var err error
	if a.settings, err = parseFlags(append([]string{"--source=" + a.repositoryDir, "--platforms=" + defaultPlatforms}, rest...)); err != nil {
		return nil, err
	}
	if !versionPattern.MatchString(a.release.version) {
		return nil, fmt.Errorf("--version %q is not a release version; write it as v0.9.0", a.release.version)
	}
	if *names == "" {
		*names = filepath.Join(a.repositoryDir, "tools", "release", "release.yaml")
	}
	text, err := os.ReadFile(*names)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, &a.publishing); err != nil {
		return nil, fmt.Errorf("%s: %w", *names, err)
	}
	for name, value := range map[string]string{"image": a.publishing.Image, "charts": a.publishing.Charts, "downloads": a.publishing.Downloads, "source": a.publishing.Source} {
		if value == "" {
			return nil, fmt.Errorf("%s: %s is empty", *names, name)
		}
	}
	if !slices.ContainsFunc(a.platforms, func(p v1.Platform) bool { return p.OS == "linux" }) {
		return nil, errors.New("--platforms has no linux platform; the image needs one, such as linux/amd64")
	}
	return a, nil
}

// chartVersion returns the version without the leading v, as charts need it.
func (a *fullRelease) chartVersion() string { return strings.TrimPrefix(a.release.version, "v") }

// readFile returns the content of a file in the repository. name contains the elements of its path.
func (a *fullRelease) readFile(name ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{a.repositoryDir}, name...)...))
}

// addArchives adds an archive with the program and the licence, and an SBOM, for each platform.
func (a *fullRelease) addArchives(programs []program) error {
	licence, err := a.readFile("LICENSE")
	if err != nil {
		return err
	}
	for _, p := range programs {
		name := "fulcrum"
		pack := tarArchive
		ending := ".tar.gz"
		if p.platform.OS == "windows" {
			name, pack, ending = "fulcrum.exe", zipArchive, ".zip"
		}
		data, err := pack([]file{{name: name, mode: 0o755, content: p.binary}, {name: "LICENSE", mode: 0o644, content: licence}}, a.release.date)
		if err != nil {
			return err
		}
		a.files[archiveName(p.platform)+ending] = data
		a.files[fmt.Sprintf("sbom-%s-%s.cdx.json", p.platform.OS, p.platform.Architecture)] = p.sbom
	}
	return nil
}

func archiveName(p v1.Platform) string { return fmt.Sprintf("fulcrum_%s_%s", p.OS, p.Architecture) }

// addManifests adds a file with the CRDs, a file with the RBAC objects, a file with the webhook configurations, and an
// archive of the IAM policies.
func (a *fullRelease) addManifests() error {
	for name, dir := range map[string]string{"crds.yaml": "config/crd", "rbac.yaml": "config/rbac", "webhooks.yaml": "config/webhook"} {
		parts, err := filepath.Glob(filepath.Join(a.repositoryDir, dir, "*.yaml"))
		if err != nil {
			return err
		}
		var out bytes.Buffer
		for _, p := range parts { // sorted by name
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "---\n# %s\n%s\n", filepath.ToSlash(filepath.Join(dir, filepath.Base(p))), bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---\n")))
		}
		if len(parts) == 0 {
			return fmt.Errorf("%s has no manifests", dir)
		}
		a.files[name] = out.Bytes()
	}
	policies, err := filepath.Glob(filepath.Join(a.repositoryDir, "config", "iam", "*.json"))
	if err != nil {
		return err
	}
	var entries []file
	for _, p := range policies {
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		entries = append(entries, file{name: filepath.Base(p), mode: 0o644, content: text})
	}
	if len(entries) == 0 {
		return errors.New("config/iam has no policies")
	}
	a.files["iam-policies.tar.gz"], err = tarArchive(entries, a.release.date)
	return err
}
