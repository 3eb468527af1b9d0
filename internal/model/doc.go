// Package model has the types of the desired state. A stack is one load balancer, or one accelerator, with all that belongs
// to it in AWS and in Kubernetes. The package is plain data without clients. It depends neither on the kind of object from
// which a stack is translated (Ingress, Service, Gateway), nor on the observed state.
package model
