// Package naming makes the names, tags, labels, finalizers and ids of stacks and their resources in AWS and in the
// cluster. None of them may change, because resources of running clusters are found by them. The package does no I/O.
package naming
