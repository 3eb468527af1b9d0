// Package testdata has the recorded cases, NAME.yaml and NAME.json. They are embedded for tests of other packages: Go
// keeps the result of a test that opens files only until the files are written again, as in each new clone.
package testdata

import "embed"

// Files are the recorded cases, by name.
//
//go:embed *.yaml *.json documents
var Files embed.FS
