// Package ownership finds out, for every kind of stack alike, which objects own stacks: by the finalizers
// that they carry, and by those that another user has removed. It reads only through a cluster.View.
package ownership
