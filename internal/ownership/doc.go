// Package ownership finds out, for every kind of stack alike, which objects own stacks: by the finalizers
// that they carry, and by those that somebody else has taken off. It reads only through a cluster.View.
package ownership
