package gateway

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// checkHostnames finds hostnames of listeners that do not admit the route of a live rule, although the live rule matches
// them by a wildcard or because it is for any hostname. Translate creates isolation rules against this (see isolationRules),
// but only for the current routes and only if they are valid. If the live rule is held, the plan adds such rules.
func (r *rightsChecker) checkHostnames(l *observed.Listener) {
	for i := range l.Rules {
		rule := &l.Rules[i]
		if _, gone := r.withdrawn.Rules[rule.ARN]; gone {
			continue
		}
		for _, host := range hostsOf(rule) {
			for _, h := range r.attached.MoreSpecificHosts(l.Port, host) {
				if owner, ok := r.mayServeWithin(l.Port, rule.Actions, host, h); !ok {
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

// hostsOf returns the hostnames of a live rule; "" means any hostname.
func hostsOf(rule *observed.Rule) []string {
	if hosts := (model.Rule{Conditions: rule.Conditions}).Hosts(); len(hosts) > 0 {
		return hosts
	}
	return []string{""}
}

// mayServeWithin reports the same as mayServe, for a hostname part that the wildcard host of the rule includes.
func (r *rightsChecker) mayServeWithin(port int32, actions []model.Action, host, part string) (finding.Ref, bool) {
	if plan.IsErrorResponse(actions) {
		return finding.Ref{}, true
	}
	return r.mayAnyOwnerServe(port, actions, r.ownersOrClaimants(actions, host), part)
}
