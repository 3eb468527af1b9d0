// Package rbac has the controller's service account and roles as files, which are generated from
// the table in config/rights. It does not install them.
package rbac

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// ServiceAccountUser is the name by which the API server identifies the service account in the files.
const ServiceAccountUser = "system:serviceaccount:kube-system:fulcrum"

// Documents returns the YAML of every file, in order of file name. A file may have several objects.
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
