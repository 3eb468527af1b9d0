// Package crd has the custom resource definitions as files, which are generated from the types in
// api/. It does not install them.
package crd

import (
	"embed"
	"io/fs"
)

//go:generate go tool -modfile=../../tools/go.mod controller-gen object paths=../../api/...
//go:generate go tool -modfile=../../tools/go.mod controller-gen crd paths=../../api/... output:crd:dir=.

//go:embed *.yaml
var files embed.FS

// Files returns a file system with one YAML file for each definition.
func Files() fs.FS { return files }

// Documents returns the YAML of every definition, in order of file name.
func Documents() ([][]byte, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	out := make([][]byte, 0, len(names))
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}
