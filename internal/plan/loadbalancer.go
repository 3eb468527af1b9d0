package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// loadBalancerPlan is a desired load balancer with its choices resolved.
type loadBalancerPlan struct {
	id      string // in the stack
	desired *model.LoadBalancer
	// live is the one that is kept; nil if one has to be made.
	live    *observed.LoadBalancer
	subnets []string
	// addresses are the elastic ones asked for, or the live ones where these do not fit.
	addresses []string
	// privateIPv4, ipv6 and prefixes (for source NAT) are those asked for, by subnet.
	privateIPv4, ipv6, prefixes map[string]string

	groups    []GroupID
	listeners []listenerPlan
	shares    map[string]share // of its rules, by namespace
	// withdrawn are ports whose listeners must not serve any more, as their only certificate is another's.
	withdrawn []int32
	replacement

	// subnetChoices and groupsKept note how subnets and security groups were found.
	subnetChoices SubnetChoices
	groupsKept    bool
}

// isFrontend reports whether it is the NLB in front of the load balancer of the stack.
func (lb *loadBalancerPlan) isFrontend() bool { return lb.id == model.FrontendNLBID }

// address is that of the one that is kept or made.
func (lb *loadBalancerPlan) address() Address { return Address{Kind: LoadBalancer, ID: lb.id} }

// listenerAddress is that of the listener of a port.
func (lb *loadBalancerPlan) listenerAddress(port int32) Address {
	if lb.isFrontend() {
		return Address{Kind: Listener, ID: naming.FrontendListenerID(port)}
	}
	return Address{Kind: Listener, ID: naming.ListenerID(port)}
}

// liveListener is the listener of a port of the live load balancer, nil if there is none.
func (lb *loadBalancerPlan) liveListener(port int32) *observed.Listener {
	if lb.live == nil {
		return nil
	}
	for i := range lb.live.Listeners {
		if lb.live.Listeners[i].Port == port {
			return &lb.live.Listeners[i]
		}
	}
	return nil
}

// origin explains a setting by where it was written.
func (lb *loadBalancerPlan) origin(field string) string {
	return "from " + lb.desired.Origins[field].String()
}

// planLoadBalancers makes the load balancer of the stack, and deletes those that the stack does not keep.
// It returns the steps after which there is one.
func (b *builder) planLoadBalancers(after []StepID) []StepID {
	lb := &b.loadBalancerPlan
	if lb.live == nil {
		b.deleteLoadBalancers("the load balancer has to be replaced, because its scheme or type cannot be changed", after)
		return b.createLoadBalancer(lb, after)
	}
	b.changeLoadBalancer(lb, after)
	// Further ones cannot come from this product.
	b.deleteLoadBalancers("another load balancer serves the stack", after)
	return after
}

// loadBalancerSettings plans changes of single settings of load balancers.
type loadBalancerSettings struct{ *draft }

// changeLoadBalancer changes a live load balancer where it differs.
func (b *builder) changeLoadBalancer(lb *loadBalancerPlan, after []StepID) {
	want, live, a := lb.desired, lb.live, lb.address()
	var pool StepID
	if want.Type == model.Application && live.IPAMPool != "" && want.IPAMPool == "" {
		pool = b.setPool(lb, "", after)
	}
	b.retag(a, lb.marked(b.tags(lb.id, want.Tags)), live.Tags, true, after, b.members())
	b.changeGroups(lb, after)
	subnets, typed := b.changeSubnets(lb, after)
	if want.AddressType != live.AddressType && !typed {
		b.add(Step{
			ID: stepID("address-type", a), Address: a, Verb: Update,
			Do:      SetAddressType{LoadBalancer: a, Type: want.AddressType},
			Changes: []Change{addressTypeChange(lb)},
			Why:     lb.origin("addressType"), After: append(slices.Clone(after), pool, subnets), Blames: b.askedBy(lb, "addressType"),
		})
	}
	b.planAttributes(a, live.ARN, want.Attributes, live.Attributes, true, after, b.askers(want.AttributesOf), want.AttributesOf...)
	if want.IPAMPool != "" && want.IPAMPool != live.IPAMPool {
		b.setPool(lb, want.IPAMPool, after)
	}
	if lb.named() && want.Name != live.Name {
		b.fixed("name", want.Origins, "the name", live.Name, want.Name)
	}
	if want.CoIPPool != "" && want.CoIPPool != live.CoIPPool {
		b.fixed("coipPool", want.Origins, "the customer-owned pool", live.CoIPPool, want.CoIPPool)
	}
	b.planCapacity(lb, after)
}

// changeGroups changes the security groups, and whether traffic through AWS PrivateLink obeys their rules. AWS gives a
// network load balancer its first group, and takes its last one, only when it is made or deleted.
func (ls loadBalancerSettings) changeGroups(lb *loadBalancerPlan, after []StepID) {
	live, a := lb.live, lb.address()
	if lb.desired.Type == model.Network && (len(live.SecurityGroups) == 0 || len(lb.groups) == 0) {
		if len(live.SecurityGroups)+len(lb.groups) > 0 {
			ls.fixed("securityGroups", lb.desired.Origins, "the security groups", strings.Join(live.SecurityGroups, ", "), cmp.Or(groupsText(lb.groups), "none"))
		}
		return
	}
	do := SetSecurityGroups{LoadBalancer: a, Groups: lb.groups}
	var changes []Change
	if ids, complete := ls.idsOf(lb.groups); !complete || !sameSet(ids, live.SecurityGroups) {
		changes = append(changes, Change{Path: "securityGroups", From: strings.Join(live.SecurityGroups, ", "), To: groupsText(lb.groups)})
	}
	if w := lb.desired.PrivateLinkRules; w != "" && w != live.PrivateLinkRules {
		do.PrivateLinkRules = w
		changes = append(changes, Change{Path: "privateLinkRules", From: live.PrivateLinkRules, To: w})
	}
	if len(changes) == 0 {
		return
	}
	ls.add(Step{
		ID: stepID("security-groups", a), Address: a, Verb: Update, Do: do, Changes: changes,
		Why: lb.origin("securityGroups"), After: after, Impact: BriefImpact, Blames: ls.members(),
	})
}

// fixed reports a setting that AWS takes only when a load balancer is made.
func (ls loadBalancerSettings) fixed(field string, origins map[string]finding.Origin, what, is, desired string) {
	of := origins[field]
	ls.found.Add(finding.Finding{
		Object: ls.blameable(of.Object), Field: of.Field, Reason: finding.SettingFixed, Severity: finding.Warning,
		Message: fmt.Sprintf("%s of the live load balancer cannot be changed from %s to %s, so nothing is changed", what, cmp.Or(is, "none"), desired),
		Fix:     "go back to the former value, or make a new load balancer in another group",
	})
}

// createLoadBalancer makes a load balancer, after those that go: one of the same name may be among them.
func (b *builder) createLoadBalancer(lb *loadBalancerPlan, after []StepID) []StepID {
	want, a := lb.desired, lb.address()
	why, impact := "the stack has no load balancer", NoImpact
	if lb.isFrontend() {
		why = "from " + want.Of.String()
	}
	tags := b.tags(lb.id, want.Tags)
	if old := lb.serving(b.have); old != nil {
		why, impact = fmt.Sprintf("it takes the place of %s, whose %s cannot be changed", old.Name, lb.unlike(old)), ReplaceImpact
		tags[naming.SuccessorTag] = old.Name
		withRoom(tags)
	}
	id := b.add(Step{
		ID: stepID("create", a), Address: a, Verb: Create,
		Do: CreateLoadBalancer{
			Type: want.Type, Name: lb.freeName(b.have), Scheme: want.Scheme, AddressType: want.AddressType, Subnets: lb.mappings(),
			SecurityGroups: lb.groups, SourceNAT: want.SourceNAT, CoIPPool: want.CoIPPool, IPAMPool: want.IPAMPool, Tags: tags,
		},
		Why: why, After: append(slices.Clone(after), b.deletions()...), Impact: impact, Blames: b.members(), NameOf: want.Origins["name"],
	})
	if len(lb.groups) > 0 && want.PrivateLinkRules == off {
		// It is on in a load balancer that was made with security groups.
		b.add(Step{
			ID: stepID("security-groups", a), Address: a, Verb: Update,
			Do:      SetSecurityGroups{LoadBalancer: a, Groups: lb.groups, PrivateLinkRules: off},
			Changes: []Change{{Path: "privateLinkRules", To: off}}, Why: lb.origin("privateLinkRules"), After: []StepID{id}, Blames: b.members(),
		})
	}
	b.planAttributes(a, "", want.Attributes, nil, false, []StepID{id}, b.askers(want.AttributesOf))
	if want.Capacity != nil && *want.Capacity > 0 {
		b.planCapacity(lb, []StepID{id})
	}
	return []StepID{id}
}

// deletions are the steps that delete load balancers.
func (ls loadBalancerSettings) deletions() []StepID {
	var out []StepID
	for _, s := range ls.plan.Steps {
		if _, ok := s.Do.(DeleteLoadBalancer); ok {
			out = append(out, s.ID)
		}
	}
	return out
}

// askedBy is the member that asks for a setting of a load balancer, or all of them where it is a class or
// a default that does.
func (ls loadBalancerSettings) askedBy(lb *loadBalancerPlan, field string) []finding.Ref {
	for _, m := range ls.want.Members {
		if m.Ref == lb.desired.Origins[field].Object {
			return []finding.Ref{m.Ref}
		}
	}
	return ls.members()
}

func (ls loadBalancerSettings) setPool(lb *loadBalancerPlan, pool string, after []StepID) StepID {
	a := lb.address()
	return ls.add(Step{
		ID: stepID("ipam-pool", a, pool), Address: a, Verb: Update,
		Do:      SetIPAMPool{LoadBalancer: a, Pool: pool},
		Changes: []Change{{Path: "ipamPool", From: lb.live.IPAMPool, To: pool}},
		Why:     lb.origin("ipamPool"), After: after, Blames: ls.askedBy(lb, "ipamPool"),
	})
}

// planCapacity compares the capacity reservation, which is asked for only if one is desired. It is
// made when the load balancer is active; the rest of the plan does not wait for that.
func (ls loadBalancerSettings) planCapacity(lb *loadBalancerPlan, after []StepID) {
	want, live := lb.desired.Capacity, lb.live
	if want == nil {
		return
	}
	if live != nil && live.Capacity == nil {
		q := model.AskCapacity{ARN: live.ARN}
		if f := ls.unavailable(q); f != nil {
			ls.reportUnavailable(*f, "the load balancer keeps its capacity", finding.BlocksNothing, lb.desired.Origins["capacity"])
			return
		}
		ls.ask(q)
		return
	}
	if live != nil && *live.Capacity == *want {
		return
	}
	a := lb.address()
	s := Step{
		ID: stepID("capacity", a), Address: a, Verb: Update,
		Do:  SetCapacity{LoadBalancer: a, Units: *want},
		Why: lb.origin("capacity"), After: after, Blames: ls.members(),
	}
	if live == nil || live.State == observed.Provisioning {
		s.Wait = ls.wait("active", "the load balancer to be active", longestWait)
		s.Wait.Again = ls.opt.Stabilization
	}
	ls.add(s)
}

// planAttributes changes the attributes that differ; those of a live resource have to be read
// first. Attributes that no member sets are left alone. Who asks for the others is in of.
func (d *draft) planAttributes(a Address, arn string, want, have map[string]string, live bool, after []StepID, blames []finding.Ref, of ...finding.Origin) {
	if len(want) == 0 {
		return
	}
	if live && have == nil {
		q := model.AskAttributes{Of: string(a.Kind), ARN: arn}
		if f := d.unavailable(q); f != nil {
			d.reportUnavailable(*f, fmt.Sprintf("%s keeps its attributes", a), finding.BlocksNothing, of...)
			return
		}
		d.ask(q)
		return
	}
	drift := attributeDrift(want, have)
	if len(drift) == 0 {
		return
	}
	d.add(Step{
		ID: stepID("attributes", a), Address: a, Verb: Update, Do: SetAttributes{Of: a, Values: drift},
		Changes: changesOf("attributes.", drift, have), Why: "attributes differ", After: after, Blames: blames,
	})
}

// askers are the members that ask for a setting; all of them where none does, or something else than a member.
func (b *builder) askers(of []finding.Origin) []finding.Ref {
	var out []finding.Ref
	for _, m := range b.members() {
		if slices.ContainsFunc(of, func(o finding.Origin) bool { return o.Object == m }) {
			out = append(out, m)
		}
	}
	if len(out) == 0 || slices.ContainsFunc(of, func(o finding.Origin) bool { return !slices.Contains(out, o.Object) }) {
		return b.members()
	}
	return out
}

// deleteLoadBalancers deletes what the desired state does not keep.
func (b *builder) deleteLoadBalancers(why string, after []StepID) []StepID {
	var out []StepID
	surplus := slices.Clone(b.surplus)
	// Those in front go before what they lead to.
	slices.SortStableFunc(surplus, func(x, y observed.LoadBalancer) int { return strings.Compare(y.Type, x.Type) })
	for _, lb := range surplus {
		if lb.ResourceID == model.FrontendNLBID && !b.want.Empty() {
			if b.frontendStays() {
				continue
			}
			why := "no member asks for a frontend NLB any more"
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
