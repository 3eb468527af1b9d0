// Package observed has the types of the observed state of AWS and of the cluster. They have the same form as those of
// package model: a resource that is read after a write compares equal to the desired state that was written. Stack has the
// resources with the tracking tags of a stack. Facts has everything else on which plans depend: the answers to the questions
// of a stack.
package observed
