// Package assemble turns settings and Kubernetes backends into pieces of the model: target groups
// and their bindings, client sources of a security group, tags, optimised rule lists. It exists
// once for all dialects. It does not read the cluster and does not depend on the kind that it was written as.
package assemble
