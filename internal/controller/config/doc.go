// Package config is what an operator can set: the flags and feature gates of the controller, with
// their defaults and checks. It parses and checks once, at start; packages get the few values they
// need as plain fields. It reads no environment.
package config
