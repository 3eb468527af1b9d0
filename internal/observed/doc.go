// Package observed is the observed state of AWS and of the cluster, in the normal form of the
// model: what is read after a write compares equal to the desired state that caused the write.
// Only resources that carry the stack's tracking tags appear as part of a stack; everything else
// is a fact to choose from, of a type that cannot be changed.
package observed
