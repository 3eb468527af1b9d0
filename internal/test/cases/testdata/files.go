// Package testdata has the recorded cases, NAME.yaml and NAME.json. They are embedded for tests of other packages. If a test
// opened the files, Go would run it again in each new clone, because its test cache compares opened files by path and
// modification time.
package testdata

import "embed"

// Files are the recorded cases, by name.
//
//go:embed *.yaml *.json documents
var Files embed.FS
