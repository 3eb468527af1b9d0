package planner

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
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/loadbalancers"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// planLoadBalancers makes the load balancer of the stack, and deletes those that the stack does not keep.
// It returns the steps after which there is one.
func (b *builder) planLoadBalancers(after []plan.StepID) []plan.StepID {
	lb := &b.LoadBalancer
	if lb.Live == nil {
		b.deleteLoadBalancers("the load balancer has to be replaced, because its scheme or type cannot be changed", after)
		return b.createLoadBalancer(lb, after)
	}
	b.changeLoadBalancer(lb, after)
	// Further ones cannot come from this product.
	b.deleteLoadBalancers("another load balancer serves the stack", after)
	return after
}

// changeLoadBalancer changes a live load balancer where it differs.
func (b *builder) changeLoadBalancer(lb *resolved.LoadBalancer, after []plan.StepID) {
	want, live, a := lb.Desired, lb.Live, lb.Address()
	var pool plan.StepID
	if want.Type == model.Application && live.IPAMPool != "" && want.IPAMPool == "" {
		pool = b.SetPool(lb, "", after)
	}
	b.Retag(a, lb.Marked(b.Tags(lb.ID, want.Tags)), live.Tags, true, after, b.Members())
	b.ChangeGroups(lb, after)
	subnets, typed := b.ChangeSubnets(lb, after)
	if want.AddressType != live.AddressType && !typed {
		b.Add(plan.Step{
			ID: plan.NewStepID("address-type", a), Address: a, Verb: plan.Update,
			Do:      plan.SetAddressType{LoadBalancer: a, Type: want.AddressType},
			Changes: []plan.Change{loadbalancers.AddressTypeChange(lb)},
			Why:     lb.Origin("addressType"), After: append(slices.Clone(after), pool, subnets), Blames: b.AskedBy(lb, "addressType"),
		})
	}
	b.PlanAttributes(a, live.ARN, want.Attributes, live.Attributes, true, after, b.askers(want.AttributesOf), want.AttributesOf...)
	if want.IPAMPool != "" && want.IPAMPool != live.IPAMPool {
		b.SetPool(lb, want.IPAMPool, after)
	}
	if lb.Named() && want.Name != live.Name {
		b.Fixed("name", want.Origins, "the name", live.Name, want.Name)
	}
	if want.CoIPPool != "" && want.CoIPPool != live.CoIPPool {
		b.Fixed("coipPool", want.Origins, "the customer-owned pool", live.CoIPPool, want.CoIPPool)
	}
	b.PlanCapacity(lb, after)
}

// createLoadBalancer makes a load balancer, after those that go: one of the same name may be among them.
func (b *builder) createLoadBalancer(lb *resolved.LoadBalancer, after []plan.StepID) []plan.StepID {
	want, a := lb.Desired, lb.Address()
	why, impact := "the stack has no load balancer", plan.NoImpact
	if lb.IsFrontend() {
		why = "from " + want.Of.String()
	}
	tags := b.Tags(lb.ID, want.Tags)
	if old := lb.Serving(b.Have); old != nil {
		why, impact = fmt.Sprintf("it takes the place of %s, whose %s cannot be changed", old.Name, lb.Unlike(old)), plan.ReplaceImpact
		tags[naming.SuccessorTag] = old.Name
		draft.WithRoom(tags)
	}
	id := b.Add(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do: plan.CreateLoadBalancer{
			Type: want.Type, Name: lb.FreeName(b.Have), Scheme: want.Scheme, AddressType: want.AddressType, Subnets: lb.Mappings(),
			SecurityGroups: lb.Groups, SourceNAT: want.SourceNAT, CoIPPool: want.CoIPPool, IPAMPool: want.IPAMPool, Tags: tags,
		},
		Why: why, After: append(slices.Clone(after), b.Deletions()...), Impact: impact, Blames: b.Members(), NameOf: want.Origins["name"],
	})
	if len(lb.Groups) > 0 && want.PrivateLinkRules == equal.Off {
		// It is on in a load balancer that was made with security groups.
		b.Add(plan.Step{
			ID: plan.NewStepID("security-groups", a), Address: a, Verb: plan.Update,
			Do:      plan.SetSecurityGroups{LoadBalancer: a, Groups: lb.Groups, PrivateLinkRules: equal.Off},
			Changes: []plan.Change{{Path: "privateLinkRules", To: equal.Off}}, Why: lb.Origin("privateLinkRules"), After: []plan.StepID{id}, Blames: b.Members(),
		})
	}
	b.PlanAttributes(a, "", want.Attributes, nil, false, []plan.StepID{id}, b.askers(want.AttributesOf))
	if want.Capacity != nil && *want.Capacity > 0 {
		b.PlanCapacity(lb, []plan.StepID{id})
	}
	return []plan.StepID{id}
}

// askers are the members that ask for a setting; all of them where none does, or something else than a member.
func (b *builder) askers(of []finding.Origin) []finding.Ref {
	var out []finding.Ref
	for _, m := range b.Members() {
		if slices.ContainsFunc(of, func(o finding.Origin) bool { return o.Object == m }) {
			out = append(out, m)
		}
	}
	if len(out) == 0 || slices.ContainsFunc(of, func(o finding.Origin) bool { return !slices.Contains(out, o.Object) }) {
		return b.Members()
	}
	return out
}

// deleteLoadBalancers deletes what the desired state does not keep.
func (b *builder) deleteLoadBalancers(why string, after []plan.StepID) []plan.StepID {
	var out []plan.StepID
	surplus := slices.Clone(b.surplus)
	// Those in front go before what they lead to.
	slices.SortStableFunc(surplus, func(x, y observed.LoadBalancer) int { return strings.Compare(y.Type, x.Type) })
	for _, lb := range surplus {
		if lb.ResourceID == model.FrontendNLBID && !b.Want.Empty() {
			if b.FrontendStays() {
				continue
			}
			why := "no member asks for a frontend NLB any more"
			if b.Want.FrontendNLB != nil {
				why = "the network load balancer has to be replaced, because its scheme cannot be changed"
			}
			out = append(out, b.deleteLoadBalancer(lb, why, after))
			continue
		}
		free := append(slices.Clone(after), b.DetachEverywhere(lb.ARN, after)...)
		out = append(out, b.deleteLoadBalancer(lb, why, free))
	}
	return out
}

func (b *builder) deleteLoadBalancer(lb observed.LoadBalancer, why string, after []plan.StepID) plan.StepID {
	a := plan.Address{Kind: plan.LoadBalancer, ID: lb.ARN}
	id := b.Add(plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteLoadBalancer{ARN: lb.ARN},
		Changes: []plan.Change{{Path: "name", From: lb.Name}},
		Why:     why, After: after, Impact: plan.DeleteImpact, Blames: b.Members(),
	})
	for _, l := range lb.Listeners {
		b.FreedListener(l, id)
	}
	return id
}
