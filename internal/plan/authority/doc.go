// Package authority plans to remove live rules, target groups, certificates and protocols that members may not use any more.
// These steps are the first of a plan and depend on no other step. They are planned for every load balancer of the stack,
// even if the rest of the load balancer is held, waits or is replaced. The rest of the plan is made from the observed state
// without what is removed, so that it cannot retain anything that must be removed.
//
// The method WithdrawnParts of each frontend determines which rights a member has lost. It reads classes, listeners and
// grants, but no routes and no configurations, so that an object that cannot be translated keeps no right. It is called only
// if a plan retains something live that is not desired (plan.Plan.HasRetainedParts): the translation has just checked the
// rights to everything else.
//
// If a rule for a wildcard host is held and matches requests for the hostname of another Gateway listener, the rule is
// retained, and package listeners adds a rule before it that answers 404.
package authority
