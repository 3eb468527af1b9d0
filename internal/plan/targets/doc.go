// Package targets determines which endpoints of a Service have to be registered in the target group
// of a TargetGroupBinding, the difference to the registered targets, the rules that the security groups of the endpoints need,
// the readiness conditions of pods, and whether a binding has changed since the last run. It reads
// the cluster through a view, and calls no API.
package targets
