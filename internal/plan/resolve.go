package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// resolveLoadBalancer chooses subnets, addresses and security groups. A choice that fails keeps what is
// live of it; without a live load balancer none is made.
func (b *builder) resolveLoadBalancer(lb *loadBalancerPlan) {
	b.resolveSubnets(lb)
	b.resolveAddresses(lb)
	b.resolveGroups(lb)
}

func (b *builder) resolveSubnets(lb *loadBalancerPlan) {
	w := lb.wish
	var live []string
	if lb.live != nil {
		live = lb.live.Subnets
	}
	if _, discovered := w.Subnets.(model.SubnetsDiscovered); discovered && lb.live != nil {
		lb.subnets = live
		return
	}
	of := b.subnetsOf(w)
	q := w.SubnetQuestion()
	if f := b.unread(q); f != nil {
		lb.subnets = live
		b.unreadPart(lb, *f, "subnets", of)
		return
	}
	chosen, fault := network.ChooseSubnets(network.SubnetRequest{
		Choice: w.Subnets, Scheme: w.Scheme, AddressType: w.AddressType, ALB: w.Type == model.Application,
		Cluster: b.opt.Cluster, ClusterTagCheck: b.opt.SubnetClusterCheck, SingleSubnet: b.opt.SingleSubnet,
		Live: live, Blame: b.blameable(of.Object),
	}, b.have.Facts.Subnets[q.Key()])
	lb.subnets = chosen.IDs
	if fault != nil {
		lb.subnets = live
		b.unfit(lb, *fault, "subnets")
	}
}

// subnetsOf is where the choice of subnets comes from: an object that names them, or else the one that
// asks for the load balancer.
func (b *builder) subnetsOf(w *model.LoadBalancer) finding.Origin {
	switch c := w.Subnets.(type) {
	case model.SubnetsNamed:
		return c.Of
	case model.SubnetsTagged:
		return c.Of
	}
	if !w.Of.Object.IsZero() || len(b.want.Members) == 0 {
		return w.Of
	}
	return finding.Origin{Object: b.want.Members[0].Ref}
}

// resolveAddresses takes the addresses if there is one for each subnet.
func (b *builder) resolveAddresses(lb *loadBalancerPlan) {
	w := lb.wish
	lb.addresses = w.Addresses
	if n := len(w.Addresses); n > 0 && len(lb.subnets) > 0 && n != len(lb.subnets) {
		lb.addresses = nil
		if lb.live != nil {
			lb.addresses = lb.live.Addresses
		}
		b.unfitAddresses(lb, "addresses", fmt.Sprintf("%s for %s", describe(n, "elastic address"), describe(len(lb.subnets), "subnet")))
	}
	lb.privateIPv4 = b.place(lb, "privateIPv4Addresses", w.PrivateIPv4, func(s observed.Subnet) []string { return []string{s.CIDR} })
	lb.ipv6 = b.place(lb, "ipv6Addresses", w.IPv6, func(s observed.Subnet) []string { return s.IPv6CIDRs })
}

// place gives each subnet the one of the addresses that is within its ranges. Where the live subnets are
// kept without being asked for there is nothing to place.
func (b *builder) place(lb *loadBalancerPlan, field string, addresses []string, ranges func(observed.Subnet) []string) map[string]string {
	answer, asked := b.have.Facts.Subnets[lb.wish.SubnetQuestion().Key()]
	if len(addresses) == 0 || len(lb.subnets) == 0 || !asked {
		return nil
	}
	if len(addresses) != len(lb.subnets) {
		b.unfitAddresses(lb, field, fmt.Sprintf("%s for %s", describe(len(addresses), "private address"), describe(len(lb.subnets), "subnet")))
		return nil
	}
	out := map[string]string{}
	for _, address := range addresses {
		at := slices.IndexFunc(answer.Candidates, func(s observed.Subnet) bool {
			return slices.Contains(lb.subnets, s.ID) && out[s.ID] == "" && network.InRanges(address, ranges(s))
		})
		if at < 0 {
			b.unfitAddresses(lb, field, fmt.Sprintf("address %q is in none of the subnets %s, or in one that has another address", address, strings.Join(lb.subnets, ", ")))
			return nil
		}
		out[answer.Candidates[at].ID] = address
	}
	return out
}

func (b *builder) unfitAddresses(lb *loadBalancerPlan, field, message string) {
	of := lb.wish.Origins[field]
	b.unfit(lb, finding.Finding{
		Object: b.blameable(of.Object), Field: of.Field, Reason: finding.SubnetsUnsuitable, Blocks: finding.BlocksStack,
		Message: message, Fix: "give one address for each subnet",
	}, "addresses")
}

// unfit reports that a part of a load balancer cannot be as desired. It stays as it is live, and without
// a live load balancer none is made.
func (b *builder) unfit(lb *loadBalancerPlan, f finding.Finding, part string) {
	if lb.isFrontend() {
		f.Blocks, f.Severity = finding.BlocksNothing, finding.Error
		if lb.live == nil {
			f.Message += ", so the network load balancer in front is not made"
		} else {
			f.Message += ", so the network load balancer in front keeps its " + part
		}
	}
	b.found.Add(f)
	if lb.live == nil {
		b.holdCreation(lb)
	}
}

// unreadPart does so for want of an answer from AWS.
func (b *builder) unreadPart(lb *loadBalancerPlan, f observed.Fault, part string, of finding.Origin) {
	what, reach, made := "the load balancer", finding.BlocksStack, "no load balancer is made"
	if lb.isFrontend() {
		what, reach, made = "the network load balancer in front", finding.BlocksNothing, "the network load balancer in front is not made"
		if of.Object.IsZero() {
			of = lb.wish.Of
		}
	}
	if lb.live == nil {
		b.holdCreation(lb)
		b.tellUnread(f, made, reach, of)
		return
	}
	b.tellUnread(f, what+" keeps its "+part, finding.BlocksNothing, of)
}

// holdCreation has a load balancer not made that is not there.
func (b *builder) holdCreation(lb *loadBalancerPlan) {
	if lb.isFrontend() {
		b.want.Held.Frontend = true
	} else {
		b.want.Held.Creation = true
	}
}

// blameable returns the object if it is a member, and otherwise the first member, since class
// parameters and defaults get no events.
func (b *builder) blameable(r finding.Ref) finding.Ref {
	for _, m := range b.want.Members {
		if m.Ref == r {
			return r
		}
	}
	if len(b.want.Members) > 0 {
		return b.want.Members[0].Ref
	}
	return r
}

// resolveGroups finds the security groups that the load balancer gets. A new one is not made while they
// are not known, as it would be open to others than it is meant for.
func (b *builder) resolveGroups(lb *loadBalancerPlan) {
	backend := false
	switch c := lb.wish.SecurityGroups.(type) {
	case model.GroupsShared:
		lb.groups = b.groups
	case model.GroupsManaged:
		if f := b.unread(model.AskSecurityGroups{}); f != nil {
			b.keepUnreadGroups(lb, *f, finding.Origin{})
			return
		}
		lb.groups = append(lb.groups, GroupID{Address: managedGroupAddress})
		backend = c.Backend
	case model.GroupsGiven:
		backend = c.Backend
		ask := model.GroupQuestion(c)
		f := b.unread(ask)
		if f == nil && backend && b.want.BackendGroup.Given == "" {
			f = b.unread(model.AskSecurityGroups{})
		}
		if f != nil {
			b.keepUnreadGroups(lb, *f, c.Of)
			return
		}
		answer, ok := b.have.Facts.Groups[ask.Key()]
		if !ok || len(answer.Missing) > 0 {
			missing := answer.Missing
			if !ok {
				missing = c.Refs
			}
			b.unfit(lb, finding.Finding{
				Object: b.blameable(c.Of.Object), Field: c.Of.Field, Reason: finding.SecurityGroupNotFound,
				Message: fmt.Sprintf("no security group in the VPC has the id or Name tag %s", strings.Join(missing, ", ")),
				Fix:     "correct the id or name, or create the group", Blocks: finding.BlocksStack,
			}, "security groups")
			b.keepGroups(lb)
			return
		}
		ids := slices.Clone(answer.ByID)
		for _, ref := range c.Refs {
			ids = append(ids, answer.ByName[ref]...)
		}
		for _, id := range ids {
			lb.groups = append(lb.groups, GroupID{ID: id})
		}
	}
	if backend {
		lb.groups = append(lb.groups, GroupID{ID: b.want.BackendGroup.Given, Address: backendGroupAddress})
	}
}

func (b *builder) keepUnreadGroups(lb *loadBalancerPlan, f observed.Fault, of finding.Origin) {
	part := "security groups and their rules"
	if lb.isFrontend() {
		part = "security groups"
	}
	b.unreadPart(lb, f, part, of)
	b.keepGroups(lb)
}

// keepGroups keeps the security groups of a live load balancer.
func (b *builder) keepGroups(lb *loadBalancerPlan) {
	if lb.live == nil {
		return
	}
	if !lb.isFrontend() {
		b.want.Held.SecurityGroups = true
	}
	for _, id := range lb.live.SecurityGroups {
		lb.groups = append(lb.groups, GroupID{ID: id})
	}
}

// idsOf are the ids of groups as far as they exist.
func (b *builder) idsOf(groups []GroupID) (ids []string, complete bool) {
	complete = true
	for _, g := range groups {
		id := g.ID
		if id == "" {
			id = b.known[g.Address]
		}
		if id == "" {
			complete = false
			continue
		}
		ids = append(ids, id)
	}
	return ids, complete
}
