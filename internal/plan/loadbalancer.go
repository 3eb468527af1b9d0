package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// loadBalancerPlan is a desired load balancer with its choices resolved.
type loadBalancerPlan struct {
	id   string // in the stack
	wish *model.LoadBalancer
	// live is the one that is kept; nil if one has to be made.
	live    *observed.LoadBalancer
	subnets []string
	// addresses are those asked for, or the live ones where these do not fit.
	addresses []string
	groups    []GroupID
	listeners []listenerPlan
}

// isFrontend reports whether it is the NLB in front of the load balancer of the stack.
func (lb *loadBalancerPlan) isFrontend() bool { return lb.id == model.FrontendNLBID }

// planLoadBalancer makes the load balancer, or changes the live one where it differs. It returns
// the steps that listeners and target groups have to wait for.
func (b *builder) planLoadBalancer(after []StepID) []StepID {
	want := b.want.LoadBalancer
	tags := b.tags(model.LoadBalancerID, want.Tags)
	if b.live == nil {
		return b.createLoadBalancer(tags, after)
	}
	live := b.live
	var pool StepID
	if live.IPAMPool != "" && want.IPAMPool == "" {
		pool = b.setPool("", live.IPAMPool, after)
	}
	b.retag(loadBalancerAddress, tags, live.Tags, true, after, b.members())
	if ids, complete := b.groupIDs(); !complete || !sameSet(ids, live.SecurityGroups) {
		b.add(Step{
			ID: stepID("security-groups", loadBalancerAddress), Address: loadBalancerAddress, Verb: Update,
			Do:      SetSecurityGroups{LoadBalancer: loadBalancerAddress, Groups: b.groups},
			Changes: []Change{{Path: "securityGroups", From: strings.Join(live.SecurityGroups, ", "), To: groupsText(b.groups)}},
			Why:     b.origin("securityGroups"), After: after, Impact: BriefImpact, Blames: b.members(),
		})
	}
	var subnets StepID
	if !sameSet(b.subnets, live.Subnets) {
		subnets = b.add(Step{
			ID: stepID("subnets", loadBalancerAddress), Address: loadBalancerAddress, Verb: Update,
			Do:      SetSubnets{LoadBalancer: loadBalancerAddress, Subnets: b.subnets},
			Changes: []Change{{Path: "subnets", From: strings.Join(live.Subnets, ", "), To: strings.Join(b.subnets, ", ")}},
			Why:     b.origin("subnets"), After: after, Impact: BriefImpact, Blames: b.members(),
		})
	}
	if want.AddressType != live.AddressType {
		b.add(Step{
			ID: stepID("address-type", loadBalancerAddress), Address: loadBalancerAddress, Verb: Update,
			Do:      SetAddressType{LoadBalancer: loadBalancerAddress, Type: want.AddressType},
			Changes: []Change{{Path: "ipAddressType", From: string(live.AddressType), To: string(want.AddressType)}},
			Why:     b.origin("ipAddressType"), After: append(slices.Clone(after), pool, subnets), Blames: b.askedBy("addressType"),
		})
	}
	b.planAttributes(loadBalancerAddress, live.ARN, want.Attributes, live.Attributes, true, after, b.members(), want.AttributesOf...)
	if want.IPAMPool != "" && want.IPAMPool != live.IPAMPool {
		b.setPool(want.IPAMPool, live.IPAMPool, after)
	}
	if want.CoIPPool != "" && want.CoIPPool != live.CoIPPool {
		b.fixed("coipPool", want.Origins, "the customer-owned pool", live.CoIPPool, want.CoIPPool)
	}
	b.planCapacity(live, after)
	b.replaceSurplus(after)
	return after
}

// fixed reports a setting that AWS takes only when a load balancer is made.
func (b *builder) fixed(field string, origins map[string]finding.Origin, what, is, wish string) {
	of := origins[field]
	b.found.Add(finding.Finding{
		Object: b.blameable(of.Object), Field: of.Field, Reason: finding.SettingFixed, Severity: finding.Warning,
		Message: fmt.Sprintf("%s of the live load balancer cannot be changed from %s to %s, so nothing is changed", what, cmp.Or(is, "none"), wish),
		Fix:     "go back to the former value, or make a new load balancer in another group",
	})
}

func (b *builder) createLoadBalancer(tags Tags, after []StepID) []StepID {
	want := b.want.LoadBalancer
	// A target group can serve one load balancer only, and an explicit name can be had once: the
	// old one goes first.
	gone := b.deleteLoadBalancers("the load balancer has to be replaced, because its scheme or type cannot be changed", after)
	id := b.add(Step{
		ID: stepID("create", loadBalancerAddress), Address: loadBalancerAddress, Verb: Create,
		Do: CreateLoadBalancer{
			Name: want.Name, Scheme: want.Scheme, AddressType: want.AddressType, Subnets: b.subnets,
			SecurityGroups: b.groups, CoIPPool: want.CoIPPool, IPAMPool: want.IPAMPool, Tags: tags,
		},
		Why: "the stack has no load balancer", After: append(slices.Clone(after), gone...), Blames: b.members(),
	})
	b.planAttributes(loadBalancerAddress, "", want.Attributes, nil, false, []StepID{id}, b.members())
	if want.Capacity != nil && *want.Capacity > 0 {
		b.planCapacity(nil, []StepID{id})
	}
	return []StepID{id}
}

// askedBy is the member that asks for a setting of the load balancer, or all of them where it is a class or
// a default that does.
func (b *builder) askedBy(field string) []finding.Ref {
	for _, m := range b.want.Members {
		if m.Ref == b.want.LoadBalancer.Origins[field].Object {
			return []finding.Ref{m.Ref}
		}
	}
	return b.members()
}

func (b *builder) setPool(pool, from string, after []StepID) StepID {
	return b.add(Step{
		ID: stepID("ipam-pool", loadBalancerAddress, pool), Address: loadBalancerAddress, Verb: Update,
		Do:      SetIPAMPool{LoadBalancer: loadBalancerAddress, Pool: pool},
		Changes: []Change{{Path: "ipamPool", From: from, To: pool}},
		Why:     b.origin("ipamPool"), After: after, Blames: b.askedBy("ipamPool"),
	})
}

// planCapacity compares the capacity reservation, which is asked for only if one is wished. It is
// made when the load balancer is active; the rest of the plan does not wait for that.
func (b *builder) planCapacity(live *observed.LoadBalancer, after []StepID) {
	want := b.want.LoadBalancer.Capacity
	if want == nil {
		return
	}
	if live != nil && live.Capacity == nil {
		q := model.AskCapacity{ARN: live.ARN}
		if f := b.unread(q); f != nil {
			b.tellUnread(*f, "the load balancer keeps its capacity", finding.BlocksNothing, b.want.LoadBalancer.Origins["capacity"])
			return
		}
		b.ask(q)
		return
	}
	if live != nil && *live.Capacity == *want {
		return
	}
	s := Step{
		ID: stepID("capacity", loadBalancerAddress), Address: loadBalancerAddress, Verb: Update,
		Do:  SetCapacity{LoadBalancer: loadBalancerAddress, Units: *want},
		Why: b.origin("capacity"), After: after, Blames: b.members(),
	}
	if live == nil || live.State == observed.Provisioning {
		s.Wait = b.wait("active", "the load balancer to be active", longestWait)
		s.Wait.Again = b.opt.Stabilization
	}
	b.add(s)
}

// planAttributes changes the attributes that differ; those of a live resource have to be read
// first. Attributes that nobody asks for are left alone. Who asks for the others is in of.
func (b *builder) planAttributes(a Address, arn string, want, have map[string]string, live bool, after []StepID, blames []finding.Ref, of ...finding.Origin) {
	if len(want) == 0 {
		return
	}
	if live && have == nil {
		q := model.AskAttributes{Of: string(a.Kind), ARN: arn}
		if f := b.unread(q); f != nil {
			b.tellUnread(*f, fmt.Sprintf("%s keeps its attributes", a), finding.BlocksNothing, of...)
			return
		}
		b.ask(q)
		return
	}
	drift := attributeDrift(want, have)
	if len(drift) == 0 {
		return
	}
	b.add(Step{
		ID: stepID("attributes", a), Address: a, Verb: Update, Do: SetAttributes{Of: a, Values: drift},
		Changes: changesOf("attributes.", drift, have), Why: "attributes differ", After: after, Blames: blames,
	})
}

// replaceSurplus deletes further load balancers of the stack; they cannot come from this product.
func (b *builder) replaceSurplus(after []StepID) {
	b.deleteLoadBalancers("another load balancer serves the stack", after)
}

// deleteLoadBalancers deletes what the wish does not keep.
func (b *builder) deleteLoadBalancers(why string, after []StepID) []StepID {
	var out []StepID
	surplus := slices.Clone(b.surplus)
	// Those in front go before what they lead to.
	slices.SortStableFunc(surplus, func(x, y observed.LoadBalancer) int { return strings.Compare(y.Type, x.Type) })
	for _, lb := range surplus {
		if lb.ResourceID == model.FrontendNLBID && !b.want.Empty() {
			if b.frontStays() {
				continue
			}
			why := "nobody wants a network load balancer in front any more"
			if b.want.FrontendNLB != nil {
				why = "the network load balancer has to be replaced, because its scheme cannot be changed"
			}
			out = append(out, b.deleteLoadBalancer(lb, why, after))
			continue
		}
		free := append(slices.Clone(after), b.detachEverywhere(lb.ARN, after)...)
		out = append(out, b.deleteLoadBalancer(lb, why, free))
	}
	return out
}

func (b *builder) deleteLoadBalancer(lb observed.LoadBalancer, why string, after []StepID) StepID {
	a := Address{Kind: LoadBalancer, ID: lb.ARN}
	id := b.add(Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteLoadBalancer{ARN: lb.ARN},
		Changes: []Change{{Path: "name", From: lb.Name}},
		Why:     why, After: after, Impact: DeleteImpact, Blames: b.members(),
	})
	for _, l := range lb.Listeners {
		b.freedListener(l, id)
	}
	return id
}

// origin explains a setting by where it was written.
func (b *builder) origin(field string) string {
	return "from " + b.want.LoadBalancer.Origins[field].String()
}

func groupsText(gs []GroupID) string {
	var out []string
	for _, g := range gs {
		if g.ID != "" {
			out = append(out, g.ID)
		} else {
			out = append(out, g.Address.String())
		}
	}
	return strings.Join(out, ", ")
}
