// Package manifest reads Kubernetes YAML and applies it to an API server, as `kubectl apply --server-side` does. It waits
// until CRDs are established, but not for other objects.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Load returns the objects in files and directories, in the order of paths. For a directory, it reads the *.yaml and *.yml
// files, sorted by name, without subdirectories.
func Load(paths ...string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, p := range paths {
		files, err := loadFiles(p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			out = append(out, f.objects...)
		}
	}
	return out, nil
}

// file is a YAML file and its objects.
type file struct {
	path    string
	objects []*unstructured.Unstructured
}

// loadFiles reads a file or the files of a directory. If it cannot read some of the files, it returns the other files and an
// error.
func loadFiles(path string) ([]file, error) {
	paths, err := filesIn(path)
	if err != nil {
		return nil, err
	}
	var out []file
	var faults []error
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		objects, err := Parse(b)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", p, err))
			continue
		}
		out = append(out, file{p, objects})
	}
	return out, errors.Join(faults...)
}

func filesIn(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			out = append(out, filepath.Join(path, e.Name()))
		}
	}
	slices.Sort(out)
	return out, nil
}

// ParseAll returns the objects in several YAML streams, as Parse does for one.
func ParseAll(streams [][]byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, s := range streams {
		objects, err := Parse(s)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// Parse returns the objects in the documents of a YAML stream. It skips empty documents, and returns the items of a list
// instead of the list.
func Parse(b []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(b)))
	for n := 1; ; n++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(doc, &object); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if len(object) == 0 {
			continue
		}
		u := &unstructured.Unstructured{Object: object}
		if u.GetKind() == "" || u.GetAPIVersion() == "" {
			return nil, fmt.Errorf("document %d: apiVersion or kind is missing", n)
		}
		if !u.IsList() || !strings.HasSuffix(u.GetKind(), "List") {
			out = append(out, u)
			continue
		}
		list, err := u.ToList()
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
}
