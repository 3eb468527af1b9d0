// Package report converts the outcome of a run to patches of Kubernetes objects, for every kind of object: events about
// findings, events about success if AWS was changed, and the status of the members. A frontend implements StatusReporter,
// which builds the status of its kind of object.
package report
