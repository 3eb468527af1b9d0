// Package rbac holds the rights of the controller as files, and gives them to whoever installs
// them. It installs nothing itself.
package rbac

import (
	"embed"
	"io/fs"
)

//go:embed *.yaml
var files embed.FS

// User is the service account that the files give the rights to, as the API server names it.
const User = "system:serviceaccount:kube-system:fulcrum"

// Documents returns the YAML of every file, in order of file name. A file may hold several objects.
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
