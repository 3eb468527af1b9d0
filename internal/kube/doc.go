// Package kube reads and writes Kubernetes for the engine: a Source that reads from informers, the writes of
// finalizers, TargetGroupBindings, status and events, and the Lease that decides whether this
// process may write. It makes no decision about load balancers.
//
// All writes use the interface API, which a live API server and cluster.Memory implement, so that a whole run can be tested
// without a server.
package kube
