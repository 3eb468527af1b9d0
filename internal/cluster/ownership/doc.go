// Package ownership finds the objects that own stacks, for all kinds of stacks: by the finalizers that the objects have, and by
// those that another writer has removed. It reads only through a cluster.View.
//
// An incomplete view is not a desired state. The AWS resources for an object are removed if the object is deleted, or was
// itself edited so that it is no longer accepted. They are not removed if a class is missing, if a class changes its
// controller although its Ingresses were not edited, or if the definition of GlobalAccelerators is deleted. The finding is
// then RemovalNotTrusted. Nothing is deleted if no object with a finalizer of the controller exists for the stack, or if
// another client has removed that finalizer.
package ownership
