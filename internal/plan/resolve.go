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

// resolveSubnets chooses the subnets. A choice that fails keeps the live ones; without a live
// load balancer nothing can be made.
func (b *builder) resolveSubnets() {
	alb := b.want.LoadBalancer
	if _, discovered := alb.Subnets.(model.SubnetsDiscovered); discovered && b.live != nil {
		b.subnets = b.live.Subnets
		return
	}
	key := ""
	for _, q := range b.want.Questions() {
		if s, ok := q.(model.AskSubnets); ok && !s.NLB {
			key = s.Key()
		}
	}
	var of finding.Origin
	if len(b.want.Members) > 0 {
		of.Object = b.want.Members[0].Ref
	}
	switch c := alb.Subnets.(type) {
	case model.SubnetsNamed:
		of = c.Of
	case model.SubnetsTagged:
		of = c.Of
	}
	if f := b.unread(model.SubnetQuestion(alb.Subnets, alb.Scheme, false)); f != nil {
		if b.live != nil {
			b.subnets = b.live.Subnets
			b.tellUnread(*f, "the load balancer keeps its subnets", finding.BlocksNothing, of)
			return
		}
		b.want.Held.Creation = true
		b.tellUnread(*f, "no load balancer is made", finding.BlocksStack, of)
		return
	}
	var live []string
	if b.live != nil {
		live = b.live.Subnets
	}
	chosen, fault := network.ChooseSubnets(network.SubnetRequest{
		Choice: alb.Subnets, Scheme: alb.Scheme, AddressType: alb.AddressType, ALB: true,
		Cluster: b.opt.Cluster, ClusterTagCheck: b.opt.SubnetClusterCheck, SingleSubnet: b.opt.SingleSubnet,
		Live: live, Blame: b.blameable(of.Object),
	}, b.have.Facts.Subnets[key])
	if fault == nil {
		b.subnets = chosen.IDs
		return
	}
	b.found.Add(*fault)
	if b.live != nil {
		b.subnets = b.live.Subnets
		return
	}
	b.want.Held.Creation = true
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

// resolveGroups finds the security groups that the load balancer gets.
func (b *builder) resolveGroups() {
	backend := false
	switch c := b.want.LoadBalancer.SecurityGroups.(type) {
	case model.GroupsManaged:
		if b.keepUnreadGroups(b.unread(model.AskSecurityGroups{}), finding.Origin{}) {
			return
		}
		b.groups = append(b.groups, GroupID{Address: managedGroupAddress})
		backend = c.Backend
	case model.GroupsGiven:
		backend = c.Backend
		ask := model.GroupQuestion(c)
		f := b.unread(ask)
		if f == nil && backend && b.want.BackendGroup.Given == "" {
			f = b.unread(model.AskSecurityGroups{})
		}
		if b.keepUnreadGroups(f, c.Of) {
			return
		}
		answer, ok := b.have.Facts.Groups[ask.Key()]
		if !ok || len(answer.Missing) > 0 {
			missing := answer.Missing
			if !ok {
				missing = c.Refs
			}
			b.found.Add(finding.Finding{
				Object: b.blameable(c.Of.Object), Field: c.Of.Field, Reason: finding.SecurityGroupNotFound,
				Message: fmt.Sprintf("no security group in the VPC has the id or Name tag %s", strings.Join(missing, ", ")),
				Fix:     "correct the id or name, or create the group", Blocks: finding.BlocksStack,
			})
			if b.live == nil {
				b.want.Held.Creation = true
				return
			}
			b.keepGroups()
			return
		}
		ids := slices.Clone(answer.ByID)
		for _, ref := range c.Refs {
			ids = append(ids, answer.ByName[ref]...)
		}
		for _, id := range ids {
			b.groups = append(b.groups, GroupID{ID: id})
		}
	}
	if backend {
		b.groups = append(b.groups, GroupID{ID: b.want.BackendGroup.Given, Address: backendGroupAddress})
	}
}

// keepUnreadGroups keeps the security groups of the load balancer if there is a fault in place of
// those that it is to have, and reports it. A new load balancer is not made, as it would be open to
// others than it is meant for.
func (b *builder) keepUnreadGroups(f *observed.Fault, of finding.Origin) bool {
	switch {
	case f == nil:
		return false
	case b.live == nil:
		b.want.Held.Creation = true
		b.tellUnread(*f, "no load balancer is made", finding.BlocksStack, of)
	default:
		b.keepGroups()
		b.tellUnread(*f, "the load balancer keeps its security groups and their rules", finding.BlocksNothing, of)
	}
	return true
}

// keepGroups keeps the security groups of the live load balancer.
func (b *builder) keepGroups() {
	b.want.Held.SecurityGroups = true
	for _, id := range b.live.SecurityGroups {
		b.groups = append(b.groups, GroupID{ID: id})
	}
}

// groupIDs are the ids of the chosen groups as far as they exist.
func (b *builder) groupIDs() (ids []string, complete bool) { return b.idsOf(b.groups) }

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
