// Package bindings reconciles TargetGroupBindings: the targets of target groups, and the rules of the security groups of
// nodes and pods that admit traffic to these targets. A run has the same phases as in package engine: view, desired targets,
// health, plan, apply, report. The package imports no client library; AWS and Kubernetes are behind the interfaces Cloud and
// Cluster.
//
// A target is deregistered immediately if the rate limiter admits the call. Otherwise the call is postponed. The binding
// runs again when the call is admitted, and the call then contains all changes that were requested until that time. The
// longest delay depends on the pod of the target (deregistrationPriority): 25 s if the pod has ended, 45 s if it still runs,
// and the same as for a registration if another pod has the address. Even if a run fails, it deregisters the addresses that
// no pod of the namespace has any more.
//
// Some targets are registered and deregistered repeatedly, because an external actor keeps editing a selector or an
// EndpointSlice, or because a pod alternates between ready and unready. After a target was registered again three times,
// each further change of this target is delayed by 5, 10, 20 and then 30 s. During the delay such targets are neither
// registered nor deregistered, as long as their pods can serve requests. New targets are registered immediately.
//
// Only runs of a binding change the security group rules that the binding needs. While it is not known which rules a binding
// needs, no rule is removed (ruleRegistry).
package bindings
