// Package service is the frontend for Services with a network load balancer: it finds the Services of a stack, translates
// them into the model with findings, and returns patches for status and events.
//
// It does no I/O: it reads Kubernetes through a cluster.View, and AWS through the observed state.
package service
