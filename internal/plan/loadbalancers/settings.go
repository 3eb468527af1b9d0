package loadbalancers

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
)

// Planner plans to create, change and delete the load balancers of a stack: its load balancer and its frontend NLB.
type Planner struct {
	*draft.Draft
	*draft.Usage
	ALBTargets *targetgroups.ALBTargetPlanner
}

// changeSecurityGroups plans to change the security groups of a load balancer, and the setting that applies their rules to
// traffic through AWS PrivateLink. AWS does not add security groups to a network load balancer that was created without
// them, and does not remove the last security group. These changes are only reported.
func (p *Planner) changeSecurityGroups(lb *resolved.LoadBalancer, after []plan.StepID) {
	live, a := lb.Live, lb.Address()
	if lb.Desired.Type == model.Network && (len(live.SecurityGroups) == 0 || len(lb.SecurityGroups) == 0) {
		if len(live.SecurityGroups)+len(lb.SecurityGroups) > 0 {
			p.reportImmutable("securityGroups", lb.Desired.Origins, "the security groups", strings.Join(live.SecurityGroups, ", "), cmp.Or(plan.SecurityGroupsText(lb.SecurityGroups), "none"))
		}
		return
	}
	do := plan.SetSecurityGroups{LoadBalancer: a, Groups: lb.SecurityGroups}
	var changes []plan.Change
	if ids, complete := p.SecurityGroupIDs(lb.SecurityGroups); !complete || !equal.SameSet(ids, live.SecurityGroups) {
		changes = append(changes, plan.Change{Path: "securityGroups", From: strings.Join(live.SecurityGroups, ", "), To: plan.SecurityGroupsText(lb.SecurityGroups)})
	}
	if w := lb.Desired.PrivateLinkRules; w != "" && w != live.PrivateLinkRules {
		do.PrivateLinkRules = w
		changes = append(changes, plan.Change{Path: "privateLinkRules", From: live.PrivateLinkRules, To: w})
	}
	if len(changes) == 0 {
		return
	}
	p.Add(plan.Step{
		ID: plan.NewStepID("security-groups", a), Address: a, Verb: plan.Update, Do: do, Changes: changes,
		Why: lb.OriginText("securityGroups"), After: after, Impact: plan.BriefImpact, RequestedBy: p.Members(),
	})
}

// reportImmutable reports that a setting of an existing load balancer keeps its current value (is) although desired is
// requested, because AWS accepts the setting only at creation. field is the key of the setting in origins, and what is its
// name in the message.
func (p *Planner) reportImmutable(field string, origins map[string]finding.Origin, what, is, desired string) {
	of, kind := origins[field], p.Want.ID.Kind
	other := "with another " + kind.ObjectKind()
	if kind.HasGroupOrder() {
		other = "in another IngressGroup"
	}
	p.Findings.Add(finding.Finding{
		Object: p.EventObject(of.Object), Field: of.Field, Reason: finding.SettingFixed, Severity: finding.Warning,
		Message: fmt.Sprintf("%s of the live load balancer cannot be changed from %s to %s, so nothing is changed", what, cmp.Or(is, "none"), desired),
		Fix:     "restore the previous value, or create a new load balancer " + other,
	})
}

func (p *Planner) deletionSteps() []plan.StepID {
	var out []plan.StepID
	for _, s := range p.Plan.Steps {
		if _, ok := s.Do.(plan.DeleteLoadBalancer); ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// fieldOwners returns the member that sets the field of a load balancer, or all members if a class or a controller default
// sets it. field is a key of model.LoadBalancer.Origins.
func (p *Planner) fieldOwners(lb *resolved.LoadBalancer, field string) []finding.Ref {
	for _, m := range p.Want.Members {
		if m.Ref == lb.Desired.Origins[field].Object {
			return []finding.Ref{m.Ref}
		}
	}
	return p.Members()
}

// setIPAMPool plans to set the IPAM pool of a load balancer; an empty pool removes the IPAM pool.
func (p *Planner) setIPAMPool(lb *resolved.LoadBalancer, pool string, after []plan.StepID) plan.StepID {
	a := lb.Address()
	return p.Add(plan.Step{
		ID: plan.NewStepID("ipam-pool", a, pool), Address: a, Verb: plan.Update,
		Do:      plan.SetIPAMPool{LoadBalancer: a, Pool: pool},
		Changes: []plan.Change{{Path: "ipamPool", From: lb.Live.IPAMPool, To: pool}},
		Why:     lb.OriginText("ipamPool"), After: after, RequestedBy: p.fieldOwners(lb, "ipamPool"),
	})
}

// planCapacity plans the capacity reservation. The existing reservation is read only if one is desired. The step waits until
// the load balancer is active; no other step waits for this step.
func (p *Planner) planCapacity(lb *resolved.LoadBalancer, after []plan.StepID) {
	want, live := lb.Desired.Capacity, lb.Live
	if want == nil {
		return
	}
	if live != nil && live.Capacity == nil {
		q := model.AskCapacity{ARN: live.ARN}
		if f := p.ReadFault(q); f != nil {
			p.ReportUnavailable(*f, "the load balancer keeps its capacity", finding.BlocksNothing, lb.Desired.Origins["capacity"])
			return
		}
		p.Ask(q)
		return
	}
	if live != nil && *live.Capacity == *want {
		return
	}
	a := lb.Address()
	s := plan.Step{
		ID: plan.NewStepID("capacity", a), Address: a, Verb: plan.Update,
		Do:  plan.SetCapacity{LoadBalancer: a, Units: *want},
		Why: lb.OriginText("capacity"), After: after, RequestedBy: p.Members(),
	}
	if live == nil || live.State == observed.LoadBalancerProvisioning {
		s.Wait = p.NewWait("active", "the load balancer to be active", durations.LongestWait)
		s.Wait.RetryAfter = p.Opt.Stabilization
	}
	p.Add(s)
}
