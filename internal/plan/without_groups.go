package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// AWS adds the first security group of a network load balancer, and removes the last one, only when that is made.

// withoutGroups returns the stack without security groups where its live network load balancer has none, with
// the rules of nodes and pods that go with that.
func withoutGroups(want model.Stack, have observed.Stack) model.Stack {
	w := want.LoadBalancer
	if w == nil || w.Type != model.Network || w.SecurityGroups == nil {
		return want
	}
	if !slices.ContainsFunc(have.LoadBalancers, func(lb observed.LoadBalancer) bool {
		return lb.ResourceID == model.LoadBalancerID && lb.Type == w.Type.String() && lb.Scheme == w.Scheme && len(lb.SecurityGroups) == 0
	}) {
		return want
	}
	lb := *w
	lb.SecurityGroups = nil
	want.LoadBalancer = &lb
	want.BackendGroup.Needed = false
	want.TargetGroups = slices.Clone(want.TargetGroups)
	for i, g := range want.TargetGroups {
		if g.Binding != nil {
			b := *g.Binding
			b.Networking, b.Managed = b.WithoutGroups, len(b.WithoutGroups) > 0
			want.TargetGroups[i].Binding = &b
		}
	}
	return want
}

// tellWithoutGroups reports that security groups that a member names are not used.
func (d *draft) tellWithoutGroups(desired *model.LoadBalancer) {
	given, ok := desired.SecurityGroups.(model.GroupsGiven)
	if !ok || d.want.LoadBalancer.SecurityGroups != nil {
		return
	}
	d.found.Add(finding.Finding{
		Object: d.blameable(given.Of.Object), Field: given.Of.Field, Reason: finding.SettingFixed, Severity: finding.Warning,
		Message: fmt.Sprintf("the live network load balancer was made without security groups; %q are not used, because AWS adds none to it", strings.Join(given.Refs, ", ")),
		Fix:     "to use security groups, have another load balancer made: change its scheme, or delete and create the object",
	})
}

// keepUnwantedGroups keeps the security groups of a live network load balancer that is to have none.
func (r *resolution) keepUnwantedGroups() {
	if r.lb.live == nil || r.lb.wish.Type != model.Network || len(r.lb.live.SecurityGroups) == 0 {
		return
	}
	of := r.lb.wish.Origins["securityGroups"]
	r.found.Add(finding.Finding{
		Object: r.blameable(of.Object), Field: of.Field, Reason: finding.SettingFixed, Severity: finding.Error,
		Message: fmt.Sprintf("the live network load balancer has the security groups %q; they and their rules stay as they are, because AWS does not remove all groups",
			strings.Join(r.lb.live.SecurityGroups, ", ")),
		Fix: "remove the setting, or have another load balancer made: change its scheme, or delete and create the object",
	})
	r.keepGroups()
}
