// Package imds emulates version 2 of the instance metadata service: its tokens, and the paths that a controller on a node
// reads. It serves the metadata of one instance of the emulator.
package imds
