// Package imds emulates the instance metadata service, version 2: its tokens and the
// paths that a controller on a node reads. It serves the metadata of one instance of
// the emulator.
package imds
