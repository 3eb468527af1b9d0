// Package docs embeds the pages that tests of packages compare with the program. Go takes the result of a test from its
// cache in each clone only if the test opens no file of the module.
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
