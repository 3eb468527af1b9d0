// Package authority plans to remove live rules, target groups, certificates and protocols that members may not use any
// more. These steps are the first of a plan and depend on no other step. They are planned for every load balancer of the
// stack, even if its other parts are held, wait or are replaced. The rest of the plan is made from the remaining parts, so
// that it cannot keep a part that must be removed.
//
// Frontends determine which rights a member has lost (Withdrawn of each frontend). They read classes, listeners and
// grants for this, but no routes and no configurations, so that an object that cannot be translated keeps no right.
// They are asked only if a plan retains a live part that is not desired (plan.Plan.HasRetainedParts): the rights of all other
// parts have just been checked by the translation.
//
// If a rule for a wildcard host is held and receives requests for the hostname of another listener, it is retained, and
// package listeners adds a rule in front of it that answers 404.
package authority
