// Package model is the desired state: stacks, each one load balancer with all that belongs to it, in AWS and in Kubernetes.
// It is plain data without clients. It depends neither on the kind of object from which it is translated (Ingress, Service,
// Gateway), nor on the observed state.
package model
