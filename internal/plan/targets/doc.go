// Package targets determines which endpoints of a Service have to be registered in the target group
// of a TargetGroupBinding, the difference to the registered targets, the rules that the security groups of the endpoints need,
// the readiness conditions of pods, and whether a binding has changed since the last run. It reads
// the cluster through a view, and calls no API.
//
// A target is the address of a pod that exists with the UID of the endpoint, has not finished, and has the address in
// its status; or a node; or an address that an operator has allowed. If a source of targets is missing as a whole
// (SourceMissing), the registered targets are retained, except addresses of pods that no longer exist.
package targets
