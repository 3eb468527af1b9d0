// Package authority plans to remove live rules, target groups, certificates and protocols that members may not use any
// more. These steps are the first of a plan and depend on no other step. They are planned for every load balancer of the
// stack, even if its other parts are held, wait or are replaced. The rest of the plan is made from the remaining parts, so
// that it cannot keep a part that must be removed.
package authority
