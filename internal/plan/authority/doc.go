// Package authority plans to remove live rules, target groups, certificates and protocols to which members have no
// right any more. These steps come first in a plan and depend on nothing, on every load balancer of the stack,
// whatever else is held, waits or is replaced. The rest of the plan is made from what remains, so that it cannot keep
// anything without a right.
package authority
