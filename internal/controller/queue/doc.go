// Package queue is the work queue of one controller: events of the cluster enqueue items, with priorities, shares of tenants
// and back-off, and workers reconcile them. It is independent of load balancers: its users define the items and their
// Reconciler.
package queue
