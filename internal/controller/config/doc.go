// Package config has the flags and feature gates of the controller, with their defaults and checks. They are parsed and
// checked once, at the start. Other packages get the values that they need as plain fields. It reads no environment
// variables.
package config
