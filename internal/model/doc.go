// Package model is what Fulcrum wants to exist in AWS and beside it: stacks, each one load
// balancer with all that belongs to it. It is plain data without clients, and knows nothing of
// how it was written (Ingress, Service, Gateway) nor of what is there already.
package model
