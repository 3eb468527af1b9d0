// Package bindings keeps the targets of target groups, and the rules of the security groups in
// front of them, equal to what TargetGroupBindings ask for. It runs the same line as package
// engine does for load balancers: view, wanted targets, health, changes, apply, report. It knows
// no client library; AWS and Kubernetes stand behind the interfaces Cloud and Cluster.
package bindings
