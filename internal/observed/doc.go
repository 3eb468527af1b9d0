// Package observed is what AWS and the cluster say is there, in the normal form of the model: a
// reading of our own write compares equal to the wish that caused it. Only resources that carry
// the stack's tracking tags appear as part of a stack; everything else is a fact to choose from,
// and has no form in which it could be changed.
package observed
