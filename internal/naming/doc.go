// Package naming makes the names, tags, labels, finalizers and logical ids by which stacks and
// their resources are found in AWS and in the cluster. All of them are frozen, because resources
// of running clusters are found by them. It decides nothing else and reads nothing.
package naming
