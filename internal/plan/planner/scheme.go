package planner

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// withLiveSchemes returns a copy of want. In the copy, a load balancer for which no member sets a scheme has its scheme in
// AWS.
func withLiveSchemes(want model.Stack, have observed.Stack) model.Stack {
	want.LoadBalancer = withLiveScheme(want.LoadBalancer, have, model.LoadBalancerID)
	want.FrontendNLB = withLiveScheme(want.FrontendNLB, have, model.FrontendNLBID)
	return want
}

func withLiveScheme(lb *model.LoadBalancer, have observed.Stack, id string) *model.LoadBalancer {
	if lb == nil || !lb.IsSchemeUnset() {
		return lb
	}
	out := *lb
	out.Scheme = liveOrDefaultScheme(have, id, lb.Scheme)
	return &out
}

// liveOrDefaultScheme returns the scheme of a load balancer for which no member sets one: its scheme in AWS, or the default
// if the load balancer does not exist. AWS cannot change the scheme. If the default were used for existing load balancers, a
// changed default would replace them and their DNS names.
func liveOrDefaultScheme(have observed.Stack, resourceID string, byDefault model.Scheme) model.Scheme {
	scheme := byDefault
	for _, lb := range have.LoadBalancers {
		switch {
		case lb.ResourceID != resourceID:
		case lb.Scheme == byDefault:
			return byDefault
		case scheme == byDefault:
			scheme = lb.Scheme
		}
	}
	return scheme
}

// reportScheme reports load balancers that keep a scheme which is not the default.
func reportScheme(d *draft.Draft, original model.Stack) {
	report := func(what string, is, byDefault model.Scheme, setting string) {
		if is == byDefault || len(d.Want.Members) == 0 {
			return
		}
		d.Findings.Add(finding.Finding{
			Object: d.Want.Members[0].Ref, Reason: finding.SchemeKept, Severity: finding.Warning,
			Message: fmt.Sprintf("scheme of the %s is not set; keeping %q (default %q), because changing the scheme replaces the load balancer", what, is, byDefault),
			Fix:     "set the annotation " + naming.SettingField(d.Want.ID.Kind, setting),
		})
	}
	if original.LoadBalancer != nil && original.LoadBalancer.IsSchemeUnset() {
		report("load balancer", d.Want.LoadBalancer.Scheme, original.LoadBalancer.Scheme, "scheme")
	}
	if original.FrontendNLB != nil && original.FrontendNLB.IsSchemeUnset() && !original.Held.Frontend {
		report("frontend NLB", d.Want.FrontendNLB.Scheme, original.FrontendNLB.Scheme, "frontend-nlb-scheme")
	}
}
