package migrate

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/migrate"
)

// File is a file that was written.
type File struct {
	Path    string `json:"path"`
	Objects int    `json:"objects"`
}

// writeManifests writes the manifests of a translation to standard output or to files, and returns the files.
func (m *migrateCommand) writeManifests(stdout io.Writer, r migrate.Result) ([]File, error) {
	objects := r.Objects()
	if len(objects) == 0 {
		return nil, nil
	}
	if m.outputDir == "-" {
		return nil, m.encode(stdout, objects)
	}
	if m.split == "" {
		f, err := m.writeFile(filepath.Join(m.outputDir, "gateway-resources."+m.outputFormat), objects)
		return []File{f}, err
	}
	for _, o := range objects {
		// The namespace becomes a part of a file path, and a manifest may have any text as its namespace.
		if ns := o.GetNamespace(); ns != "" && len(validation.IsDNS1123Label(ns)) > 0 {
			return nil, fmt.Errorf("namespace %q is not a valid name, so no directory is created for it", finding.TruncateValue(ns))
		}
	}
	// In objects, all ReferenceGrants come first. Each namespace has one file, so its objects must be adjacent.
	slices.SortStableFunc(objects, func(a, b migrate.Object) int { return cmp.Compare(a.GetNamespace(), b.GetNamespace()) })
	var out []File
	for len(objects) > 0 {
		n := 1
		namespace := objects[0].GetNamespace()
		for n < len(objects) && objects[n].GetNamespace() == namespace {
			n++
		}
		name := filepath.Join(m.outputDir, namespace, "gateway-resources."+m.outputFormat)
		if namespace == "" {
			name = filepath.Join(m.outputDir, "gatewayclass."+m.outputFormat)
		}
		f, err := m.writeFile(name, objects[:n])
		if err != nil {
			return out, err
		}
		out, objects = append(out, f), objects[n:]
	}
	return out, nil
}

// writeFile writes objects to a file. It creates the directory of the file.
func (m *migrateCommand) writeFile(name string, objects []migrate.Object) (File, error) {
	var content bytes.Buffer
	if err := m.encode(&content, objects); err != nil {
		return File{}, err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return File{}, fmt.Errorf("create the directory of --output-dir: %w", err)
	}
	return File{Path: name, Objects: len(objects)}, os.WriteFile(name, content.Bytes(), 0o644)
}

// encode writes objects in the format of --output-format.
func (m *migrateCommand) encode(w io.Writer, objects []migrate.Object) error {
	if m.outputFormat == "json" {
		return migrate.WriteJSON(w, objects)
	}
	return migrate.WriteYAML(w, objects)
}
