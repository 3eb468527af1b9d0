package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"sigs.k8s.io/yaml"
)

// Media types of Helm charts in registries.
const (
	chartConfigType  types.MediaType = "application/vnd.cncf.helm.config.v1+json"
	chartContentType types.MediaType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// addChart adds the Helm chart as an archive, and as an OCI artefact in an OCI image layout. The chart has the version of
// the release. It refers to the image by its digest, so a later change of the image's tag has no effect.
func (a *fullRelease) addChart(image v1.Hash) error {
	dir := filepath.Join(a.repositoryDir, "charts", "fulcrum")
	var files []file
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch rel {
		case "Chart.yaml":
			text, err = replaceLines(text, "version: 0.1.0\n", "version: "+a.chartVersion()+"\n", "appVersion: 0.1.0\n", "appVersion: "+a.release.version+"\n")
		case "values.yaml":
			text, err = replaceLines(text, "  repository: fulcrum-lb/fulcrum\n", "  repository: "+a.publishing.Image+"\n", "  digest: \"\"\n", "  digest: "+image.String()+"\n")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", rel, err)
		}
		files = append(files, file{name: path.Join("fulcrum", rel), mode: 0o644, content: text})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(files, func(x, y file) int { return strings.Compare(x.name, y.name) })
	data, err := tarArchive(files, a.release.date)
	if err != nil {
		return err
	}
	a.files["fulcrum-"+a.chartVersion()+".tgz"] = data
	i := slices.IndexFunc(files, func(f file) bool { return f.name == "fulcrum/Chart.yaml" })
	return a.addChartArtefact(files[i].content, data)
}

// replaceLines replaces lines of a text. pairs contains an old text and a new text for each replacement. replaceLines
// returns an error unless each old text occurs exactly once at the start of a line.
func replaceLines(text []byte, pairs ...string) ([]byte, error) {
	for i := 0; i < len(pairs); i += 2 {
		if n := bytes.Count(text, []byte("\n"+pairs[i])); n != 1 {
			return nil, fmt.Errorf("found %d lines %q, want exactly one", n, pairs[i])
		}
		text = bytes.Replace(text, []byte("\n"+pairs[i]), []byte("\n"+pairs[i+1]), 1)
	}
	return text, nil
}

// descriptor is a content descriptor of the OCI image specification.
type descriptor struct {
	MediaType   types.MediaType   `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// addChartArtefact adds an OCI image layout with the chart. A registry client can push the layout to a registry, from which
// Helm can install the chart. chart is the content of Chart.yaml, and data is the archive of the chart.
func (a *fullRelease) addChartArtefact(chart, data []byte) error {
	config, err := yaml.YAMLToJSON(chart)
	if err != nil {
		return err
	}
	put := func(media types.MediaType, content []byte) descriptor {
		sum := fmt.Sprintf("%x", sha256.Sum256(content))
		a.files["chart/blobs/sha256/"+sum] = content
		return descriptor{MediaType: media, Digest: "sha256:" + sum, Size: len(content)}
	}
	manifest, err := json.Marshal(struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     types.MediaType   `json:"mediaType"`
		Config        descriptor        `json:"config"`
		Layers        []descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations"`
	}{2, types.OCIManifestSchema1, put(chartConfigType, config), []descriptor{put(chartContentType, data)}, map[string]string{
		"org.opencontainers.image.title": "fulcrum", "org.opencontainers.image.version": a.chartVersion(), "org.opencontainers.image.created": a.release.date.Format(time.RFC3339),
		"org.opencontainers.image.source": a.publishing.Source, "org.opencontainers.image.revision": a.release.commit,
	}})
	if err != nil {
		return err
	}
	top := put(types.OCIManifestSchema1, manifest)
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": a.chartVersion()}
	index, err := json.Marshal(struct {
		SchemaVersion int             `json:"schemaVersion"`
		MediaType     types.MediaType `json:"mediaType"`
		Manifests     []descriptor    `json:"manifests"`
	}{2, types.OCIImageIndex, []descriptor{top}})
	if err != nil {
		return err
	}
	a.files["chart/index.json"], a.files["chart/oci-layout"] = index, []byte(`{"imageLayoutVersion":"1.0.0"}`)
	return nil
}
