// Package naming makes the names, tags, labels, finalizers and logical ids by which stacks and
// their resources are known in AWS and in the cluster. All of them are frozen: live resources are
// found by them. It decides nothing else and reads nothing.
package naming
