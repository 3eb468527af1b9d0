// Package service translates Services into network load balancers: which Services ask for one, which listeners
// their ports become, and what is written back.
//
// It is pure: it reads Kubernetes through the view that it is given, and AWS through what is observed.
package service
