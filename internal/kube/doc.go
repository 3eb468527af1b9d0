// Package kube is the Kubernetes side of the engine: a Source over informers, the writes of
// finalizers, TargetGroupBindings, status and events, and the Lease that decides whether this
// process may write at all. It makes no decision about load balancers.
//
// All writes go through API, a handful of verbs that a live API server and cluster.Memory both
// offer, so that a whole run can be tested without a server.
package kube
