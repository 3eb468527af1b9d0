// Package bindings reconciles TargetGroupBindings: the targets of target groups, and the rules of the security groups of
// nodes and pods that admit traffic to these targets. It works like package engine does for load balancers: view, desired
// targets, health, plan, apply, report. It imports no client library; AWS and Kubernetes are behind the interfaces Cloud
// and Cluster.
package bindings
