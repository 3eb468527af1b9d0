// Package observed has the types of the observed state of AWS and of the cluster, in the normal form of the model: a
// resource that is read after a write compares equal to the desired state of the write. Stack has the resources with the
// tracking tags of a stack. Facts has everything else that plans depend on. No plan changes a resource that Facts describes.
package observed
