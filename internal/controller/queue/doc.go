// Package queue is the work queue of a controller. Events of the cluster enqueue items with priorities, and workers
// reconcile the items. Tenants share the workers, and failed items are repeated with back-off. The package does not depend
// on load balancers: its users define the items and a Reconciler.
package queue
