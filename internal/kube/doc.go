// Package kube reads and writes Kubernetes objects for the engine. It has a Source that reads from informers, the writes of
// finalizers, TargetGroupBindings, status and events, and the Lease that decides whether this process may write. It makes no
// decision about load balancers.
//
// All writes use the interface API. It is implemented by a client of the API server and by a store in memory
// (cluster.Memory), so that whole runs can be tested without a server.
package kube
