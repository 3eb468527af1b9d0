// Package bindings reconciles TargetGroupBindings: the targets of target groups, and the rules of the security groups of
// nodes and pods that admit traffic to these targets. It works like package engine does for load balancers: view, desired
// targets, health, plan, apply, report. It imports no client library; AWS and Kubernetes are behind the interfaces Cloud
// and Cluster.
//
// How soon a target is deregistered (deregistrationPriority) depends on its pod: within 25 s if the pod has ended, within 45
// s if it still runs, and as soon as a registration if another pod has its address; immediately if the rate limiter admits
// the call. If it does not, the call is postponed, and its binding runs again when the call is admitted, so that the call
// contains all changes until then. Even if a run fails, it deregisters the addresses that no pod of the namespace has any
// more.
//
// Targets that come and go repeatedly, because a selector or an EndpointSlice is edited again and again or a pod flaps, are
// delayed after three returns: by 5, 10, 20 and at most 30 s. During the delay they are neither registered nor deregistered,
// as long as their pods can serve requests. New targets are registered immediately.
//
// The security group rules that a binding needs change only in its own runs. As long as the rules that any binding needs are
// unknown, no rule is removed (ruleOwner).
package bindings
