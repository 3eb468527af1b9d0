// Package testdata has the golden files of Ingresses. They are embedded for tests of other packages: Go keeps the result
// of a test that opens files only until the files are written again, as in each new clone.
package testdata

import "embed"

// Files are the golden files, by name.
//
//go:embed *.txtar
var Files embed.FS
