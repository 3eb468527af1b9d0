// Package docs embeds the pages that tests compare with the program. The tests do not open the files of the pages, because
// Go then could not reuse cached test results in another clone of the repository.
package docs

import _ "embed"

// Metrics is the page about the metrics of the controller.
//
//go:embed metrics.md
var Metrics string

// Emulator is the page about the AWS emulator.
//
//go:embed emulator.md
var Emulator string
