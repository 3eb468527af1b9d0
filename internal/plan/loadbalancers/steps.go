package loadbalancers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Change plans the changes of an existing load balancer: tags, security groups, subnets, address type, attributes, IPAM pool
// and capacity. Desired changes that AWS does not accept are reported. The steps come after the steps in after.
func (p *Planner) Change(lb *resolved.LoadBalancer, after []plan.StepID) {
	want, live, a := lb.Desired, lb.Live, lb.Address()
	var pool plan.StepID
	if want.Type == model.Application && live.IPAMPool != "" && want.IPAMPool == "" {
		pool = p.setIPAMPool(lb, "", after)
	}
	tags := lb.WithProgressTags(p.Tags(lb.ID, want.Tags))
	have := p.TagsAfterHandover(live.Tags)
	for k, v := range p.AdoptedTags() {
		if have[k] == v {
			tags[k] = v
		}
	}
	p.Retag(a, tags, have, true, after, p.Members())
	p.changeSecurityGroups(lb, after)
	subnets, typed := p.changeSubnets(lb, after)
	if want.AddressType != live.AddressType && !typed {
		p.Add(plan.Step{
			ID: plan.NewStepID("address-type", a), Address: a, Verb: plan.Update,
			Do:      plan.SetAddressType{LoadBalancer: a, Type: want.AddressType},
			Changes: []plan.Change{addressTypeChange(lb)},
			Why:     lb.OriginText("addressType"), After: append(slices.Clone(after), pool, subnets), RequestedBy: p.fieldOwners(lb, "addressType"),
		})
	}
	p.PlanAttributes(a, live.ARN, want.Attributes, live.Attributes, after, p.originMembers(want.AttributesOf), want.AttributesOf...)
	if want.IPAMPool != "" && want.IPAMPool != live.IPAMPool {
		p.setIPAMPool(lb, want.IPAMPool, after)
	}
	if lb.HasGivenName() && want.Name != live.Name {
		p.reportImmutable("name", want.Origins, "the name", live.Name, want.Name)
	}
	if want.CoIPPool != "" && want.CoIPPool != live.CoIPPool {
		p.reportImmutable("coipPool", want.Origins, "the customer-owned pool", live.CoIPPool, want.CoIPPool)
	}
	p.planCapacity(lb, after)
}

// Create plans to create a load balancer and returns the step. The step comes after steps that delete load balancers,
// because a deleted load balancer may have the same name.
func (p *Planner) Create(lb *resolved.LoadBalancer, after []plan.StepID) []plan.StepID {
	want, a := lb.Desired, lb.Address()
	why, impact, replaced := "the stack has no load balancer", plan.NoImpact, ""
	if lb.IsFrontend() {
		why = "from " + want.Of.String()
	}
	tags := p.Tags(lb.ID, want.Tags)
	if old := lb.ShownPrevious(p.Have); old != nil {
		why, impact = fmt.Sprintf("replaces %s, whose %s cannot be changed", old.Name, lb.ImmutableDifference(old)), plan.ReplaceImpact
		tags[naming.SuccessorTag], replaced = old.Name, old.Name
		draft.TrimTags(tags)
	}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do: plan.CreateLoadBalancer{
			Type: want.Type, Name: lb.FreeName(p.Have), Scheme: want.Scheme, AddressType: want.AddressType, Subnets: lb.SubnetMappings(),
			SecurityGroups: lb.SecurityGroups, SourceNAT: want.SourceNAT, CoIPPool: want.CoIPPool, IPAMPool: want.IPAMPool, Tags: tags,
		},
		Why: why, After: append(slices.Clone(after), p.deletionSteps()...), Impact: impact, RequestedBy: p.Members(), NameOrigin: want.Origins["name"], ReplacedLoadBalancer: replaced,
	})
	if len(lb.SecurityGroups) > 0 && want.PrivateLinkRules == equal.SettingOff {
		// By default, AWS applies the rules of the security groups to traffic through PrivateLink.
		p.Add(plan.Step{
			ID: plan.NewStepID("security-groups", a), Address: a, Verb: plan.Update,
			Do:      plan.SetSecurityGroups{LoadBalancer: a, Groups: lb.SecurityGroups, PrivateLinkRules: equal.SettingOff},
			Changes: []plan.Change{{Path: "privateLinkRules", To: equal.SettingOff}}, Why: lb.OriginText("privateLinkRules"), After: []plan.StepID{id}, RequestedBy: p.Members(),
		})
	}
	p.PlanAttributes(a, "", want.Attributes, nil, []plan.StepID{id}, p.originMembers(want.AttributesOf))
	if want.Capacity != nil && *want.Capacity > 0 {
		p.planCapacity(lb, []plan.StepID{id})
	}
	return []plan.StepID{id}
}

// originMembers returns the members among the origins of a setting. It returns all members if the origins include no member,
// or if they include a class.
func (p *Planner) originMembers(of []finding.Origin) []finding.Ref {
	var out []finding.Ref
	for _, m := range p.Members() {
		if slices.ContainsFunc(of, func(o finding.Origin) bool { return o.Object == m }) {
			out = append(out, m)
		}
	}
	if len(out) == 0 || slices.ContainsFunc(of, func(o finding.Origin) bool { return !slices.Contains(out, o.Object) }) {
		return p.Members()
	}
	return out
}

// DeleteSurplus plans to delete the load balancers in surplus, except a frontend NLB that is held. why is the reason for a
// load balancer that is not a frontend NLB. It returns the steps.
func (p *Planner) DeleteSurplus(surplus []observed.LoadBalancer, why string, after []plan.StepID) []plan.StepID {
	var out []plan.StepID
	surplus = slices.Clone(surplus)
	// A frontend NLB is deleted before the ALB that it forwards to.
	slices.SortStableFunc(surplus, func(x, y observed.LoadBalancer) int { return strings.Compare(y.Type, x.Type) })
	for _, lb := range surplus {
		if lb.ResourceID == model.FrontendNLBID && !p.Want.IsEmpty() {
			if p.IsFrontendHeld() {
				continue
			}
			why := "no member requests a frontend NLB any more"
			if p.Want.FrontendNLB != nil {
				why = "the frontend NLB does not have the desired scheme, and AWS cannot change its scheme"
			}
			out = append(out, p.Delete(lb, "", why, after))
			continue
		}
		free := append(slices.Clone(after), p.ALBTargets.DeregisterFromAllTargetGroups(lb.ARN, after)...)
		out = append(out, p.Delete(lb, "", why, free))
	}
	return out
}

// Delete plans to delete a load balancer together with its listeners and rules. If lb was replaced by another load balancer,
// replaced is the name of lb; otherwise it is empty.
func (p *Planner) Delete(lb observed.LoadBalancer, replaced, why string, after []plan.StepID) plan.StepID {
	a := plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: lb.ARN},
		Changes: []plan.Change{{Path: "name", From: lb.Name}},
		Why:     why, After: after, Impact: plan.DeleteImpact, RequestedBy: p.Members(), Wait: p.noEndpointWait(lb), ReplacedLoadBalancer: replaced,
	})
	for _, l := range lb.Listeners {
		p.RecordListenerDeletion(l, id)
	}
	return id
}

// noEndpointWait returns a wait until no accelerator has the load balancer as an endpoint; empty if no accelerator has it.
// The wait has a deadline. AWS does not remove deleted load balancers from endpoint groups, and requests through the
// accelerator would fail.
func (p *Planner) noEndpointWait(lb observed.LoadBalancer) plan.Wait {
	if !p.Opt.Accelerators {
		return plan.Wait{}
	}
	p.Ask(model.AskAcceleratorsOf{ARN: lb.ARN})
	if len(p.Have.Facts.Accelerators[lb.ARN]) == 0 {
		return plan.Wait{}
	}
	return p.NewWait("endpoint "+lb.ARN, "accelerators to send traffic elsewhere", durations.LongestWait)
}
