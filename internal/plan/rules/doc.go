// Package rules plans the changes of the rules of a listener. Between any two steps, every request gets either the answer
// that it got before the change or the one that it gets after it.
//
// A new target group is first attached with weight 0, so that AWS checks its targets. It gets requests when the targets are
// healthy. The old target group keeps its targets until all nodes of the load balancer have the new rules. A new rule that
// would take requests from an existing rule with healthy targets has a lower precedence than that rule until its own targets
// are healthy. If several members change at the same time, none of them waits for another: between two steps, a request may
// get the answer of a state in which only some of the members have changed.
//
// A valid rule replaces a held one with the same conditions. The limit of rules is known only after AWS has refused one.
// Rules that exceed the quota (Rule.OverQuota) replace rules of their namespace that are not desired any more, or are
// omitted.
package rules
