// Package rules plans the changes of the rules of a listener. Between any two steps, every request gets either its answer
// before the change or its answer after the change.
//
// A new target group is first attached with weight 0, so that AWS checks its targets. It gets requests when its targets are
// healthy. The old target group keeps its targets until all nodes of the load balancer apply the new rules. A new rule that
// would take requests from an existing rule with healthy targets has a lower precedence than that rule until its own targets
// are healthy. If several members change at the same time, none of them waits for another: between two steps, a request may
// get the answer of a state in which only some of the members have changed.
//
// An accepted rule replaces a held rule with the same conditions. The quota of rules is known only after AWS has refused a
// rule. New rules that exceed the quota (Rule.OverQuota) replace rules that are not desired any more, first those of the
// same namespace, or are omitted.
package rules
