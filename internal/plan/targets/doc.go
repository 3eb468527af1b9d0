// Package targets determines which endpoints of a Service have to be registered in the target group of a TargetGroupBinding,
// and how they differ from the registered targets. It also determines the rules that the security groups of the endpoints
// need, the readiness conditions of pods, and whether a binding has changed since the last run. It reads the cluster through
// a view, and calls no API.
//
// A target is a node, or the address of a pod that exists with the UID of the endpoint, has not finished, and has the
// address in its status. If there are no nodes or EndpointSlices at all (SourceMissing), the registered targets are
// retained, except addresses of pods that do not exist any more.
package targets
