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

// Change changes a live load balancer where it differs.
func (p *Planner) Change(lb *resolved.LoadBalancer, after []plan.StepID) {
	want, live, a := lb.Desired, lb.Live, lb.Address()
	var pool plan.StepID
	if want.Type == model.Application && live.IPAMPool != "" && want.IPAMPool == "" {
		pool = p.setPool(lb, "", after)
	}
	tags := lb.WithProgressTags(p.Tags(lb.ID, want.Tags))
	have := p.HandedOver(live.Tags)
	for k, v := range p.AdoptedTags() {
		if have[k] == v {
			tags[k] = v
		}
	}
	p.Retag(a, tags, have, true, after, p.Members())
	p.changeGroups(lb, after)
	subnets, typed := p.changeSubnets(lb, after)
	if want.AddressType != live.AddressType && !typed {
		p.Add(plan.Step{
			ID: plan.NewStepID("address-type", a), Address: a, Verb: plan.Update,
			Do:      plan.SetAddressType{LoadBalancer: a, Type: want.AddressType},
			Changes: []plan.Change{addressTypeChange(lb)},
			Why:     lb.OriginText("addressType"), After: append(slices.Clone(after), pool, subnets), Blames: p.askedBy(lb, "addressType"),
		})
	}
	p.PlanAttributes(a, live.ARN, want.Attributes, live.Attributes, true, after, p.membersAsking(want.AttributesOf), want.AttributesOf...)
	if want.IPAMPool != "" && want.IPAMPool != live.IPAMPool {
		p.setPool(lb, want.IPAMPool, after)
	}
	if lb.HasGivenName() && want.Name != live.Name {
		p.reportFixed("name", want.Origins, "the name", live.Name, want.Name)
	}
	if want.CoIPPool != "" && want.CoIPPool != live.CoIPPool {
		p.reportFixed("coipPool", want.Origins, "the customer-owned pool", live.CoIPPool, want.CoIPPool)
	}
	p.planCapacity(lb, after)
}

// Create makes a load balancer, after those that go: one of the same name may be among them.
func (p *Planner) Create(lb *resolved.LoadBalancer, after []plan.StepID) []plan.StepID {
	want, a := lb.Desired, lb.Address()
	why, impact, replaced := "the stack has no load balancer", plan.NoImpact, ""
	if lb.IsFrontend() {
		why = "from " + want.Of.String()
	}
	tags := p.Tags(lb.ID, want.Tags)
	if old := lb.ShownPrevious(p.Have); old != nil {
		why, impact = fmt.Sprintf("it takes the place of %s, whose %s cannot be changed", old.Name, lb.ImmutableDifference(old)), plan.ReplaceImpact
		tags[naming.SuccessorTag], replaced = old.Name, old.Name
		draft.TrimTags(tags)
	}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do: plan.CreateLoadBalancer{
			Type: want.Type, Name: lb.FreeName(p.Have), Scheme: want.Scheme, AddressType: want.AddressType, Subnets: lb.Mappings(),
			SecurityGroups: lb.SecurityGroups, SourceNAT: want.SourceNAT, CoIPPool: want.CoIPPool, IPAMPool: want.IPAMPool, Tags: tags,
		},
		Why: why, After: append(slices.Clone(after), p.deletionSteps()...), Impact: impact, Blames: p.Members(), NameOf: want.Origins["name"], Replaced: replaced,
	})
	if len(lb.SecurityGroups) > 0 && want.PrivateLinkRules == equal.Off {
		// It is on in a load balancer that was made with security groups.
		p.Add(plan.Step{
			ID: plan.NewStepID("security-groups", a), Address: a, Verb: plan.Update,
			Do:      plan.SetSecurityGroups{LoadBalancer: a, Groups: lb.SecurityGroups, PrivateLinkRules: equal.Off},
			Changes: []plan.Change{{Path: "privateLinkRules", To: equal.Off}}, Why: lb.OriginText("privateLinkRules"), After: []plan.StepID{id}, Blames: p.Members(),
		})
	}
	p.PlanAttributes(a, "", want.Attributes, nil, false, []plan.StepID{id}, p.membersAsking(want.AttributesOf))
	if want.Capacity != nil && *want.Capacity > 0 {
		p.planCapacity(lb, []plan.StepID{id})
	}
	return []plan.StepID{id}
}

// membersAsking returns the members that ask for a setting; all of them where none does, or something else than a
// member.
func (p *Planner) membersAsking(of []finding.Origin) []finding.Ref {
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

// DeleteSurplus deletes what the desired state does not keep.
func (p *Planner) DeleteSurplus(surplus []observed.LoadBalancer, why string, after []plan.StepID) []plan.StepID {
	var out []plan.StepID
	surplus = slices.Clone(surplus)
	// Those in front go before what they lead to.
	slices.SortStableFunc(surplus, func(x, y observed.LoadBalancer) int { return strings.Compare(y.Type, x.Type) })
	for _, lb := range surplus {
		if lb.ResourceID == model.FrontendNLBID && !p.Want.Empty() {
			if p.FrontendStays() {
				continue
			}
			why := "no member asks for a frontend NLB any more"
			if p.Want.FrontendNLB != nil {
				why = "the network load balancer has to be replaced, because its scheme cannot be changed"
			}
			out = append(out, p.Delete(lb, why, after))
			continue
		}
		free := append(slices.Clone(after), p.albs.DetachEverywhere(lb.ARN, after)...)
		out = append(out, p.Delete(lb, why, free))
	}
	return out
}

// Delete deletes a load balancer and with it its listeners.
func (p *Planner) Delete(lb observed.LoadBalancer, why string, after []plan.StepID) plan.StepID {
	return p.delete(lb, "", why, after)
}

// DeleteReplaced deletes a load balancer whose place another one has taken.
func (p *Planner) DeleteReplaced(lb observed.LoadBalancer, why string, after []plan.StepID) plan.StepID {
	return p.delete(lb, lb.Name, why, after)
}

func (p *Planner) delete(lb observed.LoadBalancer, replaced, why string, after []plan.StepID) plan.StepID {
	a := plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}
	id := p.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: lb.ARN},
		Changes: []plan.Change{{Path: "name", From: lb.Name}},
		Why:     why, After: after, Impact: plan.DeleteImpact, Blames: p.Members(), Wait: p.untilNoEndpoint(lb), Replaced: replaced,
	})
	for _, l := range lb.Listeners {
		p.usage.FreedListener(l, id)
	}
	return id
}

// untilNoEndpoint waits, for a while, until no accelerator leads to a load balancer that goes: AWS keeps one that is gone as an
// endpoint, and clients of the accelerator would lose what they send to it.
func (p *Planner) untilNoEndpoint(lb observed.LoadBalancer) plan.Wait {
	if !p.Opt.Accelerators {
		return plan.Wait{}
	}
	p.Ask(model.AskAcceleratorsOf{ARN: lb.ARN})
	if len(p.Have.Facts.Accelerators[lb.ARN]) == 0 {
		return plan.Wait{}
	}
	return p.Wait("endpoint "+lb.ARN, "accelerators to lead elsewhere", durations.LongestWait)
}
