package targetgroups

import (
	"net/netip"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// NetworkingRules returns the desired rules of a binding for the security groups of nodes and pods, with the address ranges
// of the subnets of the load balancer and of the VPC; false as long as these are not known.
func (gp *Planner) NetworkingRules(w model.TargetGroup) ([]model.BindingRule, bool) {
	var out []model.BindingRule
	for _, r := range w.Binding.Networking {
		rule := model.BindingRule{Ports: r.Ports}
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
		if len(rule.From) > 0 {
			out = append(out, rule)
		}
	}
	return out, true
}

// peerRanges returns the IPv4 and IPv6 ranges of a peer that stands for the VPC or for the subnets of the load balancer.
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
