// Package ownership finds the objects that own stacks, for all kinds of stacks: by the finalizers that the objects have, and
// by the finalizers that another client has removed. It reads only through a cluster.View.
//
// An object may be missing in a view by mistake, so a missing object alone does not permit a deletion in AWS. The AWS
// resources for an object are removed if the object is deleted, or if it was edited so that it is no longer accepted. The
// resources are not removed if a class is missing, if a class selects another controller for Ingresses that were not edited,
// or if the CustomResourceDefinition of GlobalAccelerators is deleted. The finding is then RemovalNotTrusted. Nothing is
// deleted if no object with a finalizer of the controller exists for the stack, or if another client has removed that
// finalizer.
package ownership
