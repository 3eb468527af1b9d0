package targetgroups

import (
	"net/netip"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// NetworkingRules returns the desired rules of a binding for the security groups of nodes and pods, with the address ranges
// of the subnets of the load balancer and of the VPC; false as long as these ranges are not known. It leaves out optional
// rules if the existing binding has exactly the required rules.
func (gp *Planner) NetworkingRules(w model.TargetGroup) ([]model.BindingRule, bool) {
	var out, required []model.BindingRule
	for _, r := range w.Binding.Networking {
		rule := model.BindingRule{Ports: r.Ports, Optional: r.Optional}
		for _, p := range r.From {
			if !p.Subnets && !p.VPC {
				rule.From = append(rule.From, p)
				continue
			}
			ranges, known := gp.peerRanges(p, w)
			if !known {
				return nil, false
			}
			for _, cidr := range ranges {
				if isIPv6(cidr) == (w.AddressType == model.IPv6) {
					rule.From = append(rule.From, model.Peer{CIDR: cidr})
				}
			}
		}
		if len(rule.From) == 0 {
			continue
		}
		out = append(out, rule)
		if !rule.Optional {
			required = append(required, rule)
		}
	}
	if live := gp.liveBinding(w); len(required) < len(out) && live != nil && gp.areRulesEqual(required, live.Networking) {
		return required, true
	}
	return out, true
}

// areRulesEqual reports whether an existing binding has exactly the desired rules, in the same order.
func (gp *Planner) areRulesEqual(desired []model.BindingRule, live []observed.BindingRule) bool {
	return slices.EqualFunc(desired, live, func(x model.BindingRule, y observed.BindingRule) bool {
		var groups, cidrs []string
		for _, p := range x.From {
			switch {
			case p.BackendSecurityGroup:
				groups = append(groups, gp.KnownIDs[plan.BackendSecurityGroupAddress])
			case p.ManagedSecurityGroup:
				groups = append(groups, gp.KnownIDs[plan.ManagedSecurityGroupAddress])
			default:
				cidrs = append(cidrs, p.CIDR)
			}
		}
		return slices.Equal(groups, y.SecurityGroups) && equal.SameSet(cidrs, y.CIDRs) &&
			slices.EqualFunc(x.Ports, y.Ports, func(p, q model.PeerPort) bool {
				return p.Protocol == q.Protocol && (p.Port == nil) == (q.Port == nil) && (p.Port == nil || *p.Port == *q.Port)
			})
	})
}

// peerRanges returns the IPv4 and IPv6 ranges of a peer, which are those of the VPC or of the subnets of the load balancer.
func (gp *Planner) peerRanges(p model.Peer, w model.TargetGroup) (out []string, known bool) {
	if p.VPC {
		if f := gp.ReadFault(model.AskVPC{}); f != nil {
			gp.ReportUnavailable(*f, "the rules of nodes and pods for target group "+w.ID+" stay unchanged", finding.BlocksNothing, draft.MemberOrigins(w.Members)...)
			return nil, false
		}
		if gp.Have.Facts.VPCRanges == nil {
			gp.Ask(model.AskVPC{})
			return nil, false
		}
		return gp.Have.Facts.VPCRanges, true
	}
	subnets, known, fault := gp.SubnetFacts(gp.LB.Subnets, gp.LB.Desired.SubnetQuestion())
	if fault != nil {
		gp.ReportUnavailable(*fault, "the rules of nodes and pods for target group "+w.ID+" stay unchanged", finding.BlocksNothing, draft.MemberOrigins(w.Members)...)
	}
	for _, s := range subnets {
		out = append(append(out, s.CIDR), s.IPv6CIDRs...)
	}
	return out, known
}

func isIPv6(cidr string) bool {
	p, err := netip.ParsePrefix(cidr)
	return err == nil && p.Addr().Is6()
}
