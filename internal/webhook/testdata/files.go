// Package testdata has the golden files of admission. The files are embedded for tests of other packages. If a test opened
// the files itself, go test could not use its cached result in a new clone, because the files have new modification times
// there.
package testdata

import "embed"

// Files are the golden files, by name.
//
//go:embed *.txtar
var Files embed.FS
