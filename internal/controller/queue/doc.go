// Package queue is the line of work of one controller: events of the cluster become items of a queue with priorities,
// shares of tenants and back-off, and workers take them. It knows nothing of load balancers; what an item is and what is
// done with it is its user's.
package queue
