// Package imds is the instance metadata service, version 2: the token dance
// and the paths that a controller on a node reads. It speaks for one instance
// of the world.
package imds
