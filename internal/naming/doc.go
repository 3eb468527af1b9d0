// Package naming makes the names, tags, labels, finalizers and ids of stacks and of their resources, in AWS and in the
// cluster. None of these may change, because the controller finds the resources of running clusters by them. The package
// does no I/O.
package naming
