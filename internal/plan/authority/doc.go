// Package authority plans to remove observed rules, target groups, certificates and protocols that members may not use any
// more. These steps come first in a plan and depend on no other step. They are planned for every load balancer of the stack,
// even if the rest of the load balancer is held, waits or is replaced. The rest of the plan is made from an observed state
// without the removed resources and settings. Therefore the rest of the plan cannot retain them.
//
// The method WithdrawnResources of each frontend determines which rights a member has lost. It reads classes, listeners and
// grants, but no routes and no configurations. Therefore a member loses its rights even if it cannot be translated. The
// method is called only if a plan retains a resource or setting that is not desired (plan.Plan.HasRetainedParts). The
// translation has already checked the rights to desired resources and settings.
//
// A listener that has only withdrawn certificates gets the desired certificate of its port, which package planner passes to
// Revoke. The listener is deleted if there is no desired certificate, or if AWS does not accept this certificate within
// durations.ShortWait.
//
// If a held rule for a wildcard host matches requests for the hostname of another Gateway listener, the rule is retained.
// Package listeners adds a rule before the retained rule, which answers these requests with 404.
package authority
