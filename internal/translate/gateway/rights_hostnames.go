package gateway

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// checkHostnames adds hostnames to withdrawn.Hostnames. An existing rule with a wildcard, or without a hostname, also
// matches hostnames of more specific listeners. Such a hostname is added if its listener does not admit the route of the
// rule. Translate creates isolation rules for such hostnames (see isolationRules), but only for current routes and only if
// these are valid. If the existing rule is held, the plan adds rules for the hostnames.
func (r *rightsChecker) checkHostnames(l *observed.Listener) {
	for i := range l.Rules {
		rule := &l.Rules[i]
		if _, gone := r.withdrawn.Rules[rule.ARN]; gone {
			continue
		}
		for _, host := range hostsOf(rule) {
			for _, h := range r.attached.MoreSpecificHosts(l.Port, host) {
				if owner, ok := r.mayServeMatchedHost(l.Port, rule.Actions, host, h); !ok {
					r.withdrawn.Hostnames = append(r.withdrawn.Hostnames, model.ForeignHostname{Rule: rule.ARN, Host: r.conditions.hostCondition(h), Withdrawal: model.Withdrawal{
						Object: owner, Field: "spec.parentRefs", Reason: finding.RouteNotAdmitted,
						Message: fmt.Sprintf("hostname %q of port %d belongs to a listener that does not admit the route", h, l.Port),
						Fix:     "ask the owner of the Gateway to admit the namespace in allowedRoutes of the listener with this hostname",
					}})
				}
			}
		}
	}
}

// hostsOf returns the hostnames in the conditions of a rule; [""] if the rule matches any hostname.
func hostsOf(rule *observed.Rule) []string {
	if hosts := (model.Rule{Conditions: rule.Conditions}).Hosts(); len(hosts) > 0 {
		return hosts
	}
	return []string{""}
}

// mayServeMatchedHost is like mayServe, for a hostname that a rule matches without naming it. host is the hostname of the
// rule, and part is the matched hostname.
func (r *rightsChecker) mayServeMatchedHost(port int32, actions []model.Action, host, part string) (finding.Ref, bool) {
	if plan.IsErrorResponse(actions) {
		return finding.Ref{}, true
	}
	return r.mayAnyOwnerServe(port, actions, r.ownersOrPossibleOwners(actions, host), part)
}
