// Package ownership finds the objects that own stacks, for all kinds of stacks: by the finalizers that the objects have, and by
// those that another writer has removed. It reads only through a cluster.View.
package ownership
