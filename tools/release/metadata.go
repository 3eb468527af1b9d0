package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"sigs.k8s.io/yaml"
)

// completionShells are the shells for which the program prints completion scripts.
var completionShells = []string{"bash", "fish", "powershell", "zsh"}

// addCompletions adds an archive of completion scripts. It runs the program for the platform of this machine, which prints
// them, and returns an error if there is no such program.
func (a *fullRelease) addCompletions(ctx context.Context, programs []program) error {
	i := slices.IndexFunc(programs, func(p program) bool {
		return p.platform.OS == runtime.GOOS && p.platform.Architecture == runtime.GOARCH
	})
	if i < 0 {
		return fmt.Errorf("--platforms lacks %s/%s, the platform of this machine, whose program prints the completion scripts", runtime.GOOS, runtime.GOARCH)
	}
	work, err := os.MkdirTemp("", "fulcrum-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	path := filepath.Join(work, "fulcrum")
	if err := os.WriteFile(path, programs[i].binary, 0o755); err != nil {
		return err
	}
	var entries []file
	for _, shell := range completionShells {
		text, err := exec.CommandContext(ctx, path, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("completion for %s: %w", shell, err)
		}
		entries = append(entries, file{name: "fulcrum." + shell, mode: 0o644, content: text})
	}
	a.files["completions.tar.gz"], err = tarArchive(entries, a.release.date)
	return err
}

// addKrewManifest adds the plugin manifest for krew, the plugin manager of kubectl. With it, krew installs the program as
// "kubectl fulcrum". The archives of the programs must have been added.
func (a *fullRelease) addKrewManifest() error {
	type object map[string]any
	var platforms []object
	for _, p := range a.platforms {
		name, program := archiveName(p)+".tar.gz", "fulcrum"
		if p.OS == "windows" {
			name, program = archiveName(p)+".zip", "fulcrum.exe"
		}
		platforms = append(platforms, object{
			"selector": object{"matchLabels": object{"os": p.OS, "arch": p.Architecture}},
			"uri":      a.publishing.Downloads + "/" + a.release.version + "/" + name,
			"sha256":   fmt.Sprintf("%x", sha256.Sum256(a.files[name])),
			"bin":      program,
		})
	}
	text, err := yaml.Marshal(object{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": object{"name": "fulcrum"},
		"spec": object{
			"version": a.release.version, "homepage": a.publishing.Source, "platforms": platforms,
			"shortDescription": "Show what Fulcrum does in AWS for Ingresses, Services and Gateways",
			"description": "Shows the AWS resources of the controller Fulcrum, or of aws-load-balancer-controller before a migration: the planned\n" +
				"changes, the tree of load balancers, the rule that answers a request, and problems. It changes nothing.\n",
		},
	})
	a.files["fulcrum.yaml"] = text
	return err
}

// addChangelog adds CHANGELOG.md with the subjects of the commits since the last version, grouped by their prefix, and
// differences.md, which describes differences from aws-load-balancer-controller. Outside a git repository, CHANGELOG.md
// contains no subjects but only a sentence that explains this.
func (a *fullRelease) addChangelog(ctx context.Context) error {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = a.repositoryDir
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n\n%s, commit %s\n\n", a.release.version, a.release.date.Format(time.DateOnly), a.release.commit)
	fmt.Fprintf(&out, "[differences.md](differences.md) lists what differs from aws-load-balancer-controller v3.5.0.\n\n")
	to := "HEAD"
	if _, err := git("rev-parse", "--verify", "--quiet", a.release.commit+"^{commit}"); err == nil {
		to = a.release.commit
	}
	since, span := "the beginning", to
	if last, err := git("describe", "--tags", "--abbrev=0", "--match=v*", to+"^"); err == nil && last != "" {
		since, span = last, last+".."+to
	}
	fmt.Fprintf(&out, "The upgrade from %s and the downgrade are tested; docs/upgrades.md lists what does not change.\n\n", strings.Join(a.publishing.UpgradesFrom, ", "))
	subjects, err := git("log", "--no-merges", "--format=%s", span)
	if err != nil {
		fmt.Fprintln(&out, "The commits are not known, because this release was not built in a git repository.")
	} else {
		about := map[string][]string{}
		for line := range strings.SplitSeq(subjects, "\n") {
			what, rest, ok := strings.Cut(line, ": ")
			if !ok || strings.Contains(what, " ") {
				what, rest = "other", line
			}
			about[what] = append(about[what], rest)
		}
		fmt.Fprintf(&out, "## Changes since %s\n", since)
		for _, what := range slices.Sorted(maps.Keys(about)) {
			fmt.Fprintf(&out, "\n**%s**\n\n", what)
			for _, line := range about[what] {
				fmt.Fprintf(&out, "- %s\n", line)
			}
		}
	}
	differences, err := a.readFile("docs", "differences.md")
	if err != nil {
		return err
	}
	a.files["CHANGELOG.md"], a.files["differences.md"] = out.Bytes(), differences
	return nil
}

// provenanceSubject is an artefact, with its digests by algorithm, in an in-toto statement.
type provenanceSubject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// addProvenance adds an in-toto statement with SLSA provenance: the digests of the image and of all files for download that
// were added before, and the source, Go version and parameters from which they were built. The statement is not signed; the
// publisher of the release signs it.
func (a *fullRelease) addProvenance(image v1.Hash) error {
	subjects := []provenanceSubject{{a.publishing.Image, map[string]string{image.Algorithm: image.Hex}}}
	for _, name := range a.downloadNames() {
		subjects = append(subjects, provenanceSubject{name, map[string]string{"sha256": fmt.Sprintf("%x", sha256.Sum256(a.files[name]))}})
	}
	type object map[string]any
	text, err := json.MarshalIndent(object{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":            a.publishing.Source + "/tools/release@v1",
				"externalParameters":   object{"version": a.release.version, "platforms": a.platforms},
				"internalParameters":   object{"go": runtime.Version()},
				"resolvedDependencies": []object{{"uri": "git+" + a.publishing.Source, "digest": object{"gitCommit": a.release.commit}}},
			},
			"runDetails": object{"builder": object{"id": a.publishing.Source + "/tools/release"}},
		},
	}, "", "  ")
	a.files["provenance.intoto.json"] = append(text, '\n')
	return err
}

// downloadNames returns the sorted names of the files for download: all files except those of OCI image layouts.
func (a *fullRelease) downloadNames() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(a.files)), func(name string) bool { return strings.Contains(name, "/") })
}

// addChecksums adds SHA256SUMS with the digests of all files for download, in the format of sha256sum.
func (a *fullRelease) addChecksums() {
	var out bytes.Buffer
	for _, name := range a.downloadNames() {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(a.files[name]), name)
	}
	a.files["SHA256SUMS"] = out.Bytes()
}
