// Package config has the flags and feature gates of the controller, with their defaults and validation. Flags are parsed and
// validated once, when the process starts. Other packages receive the values that they need. The package reads no
// environment variables.
package config
