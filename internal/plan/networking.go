package plan

import (
	"net/netip"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// networking are the rules of nodes and pods that a binding asks for, with the ranges of the load balancer's
// subnets and of its VPC; false while these are not known.
func (gp *groupPlanner) networking(w model.TargetGroup) ([]model.BindingRule, bool) {
	var out []model.BindingRule
	for _, r := range w.Binding.Networking {
		rule := model.BindingRule{Ports: r.Ports}
		for _, p := range r.From {
			if !p.Subnets && !p.VPC {
				rule.From = append(rule.From, p)
				continue
			}
			ranges, known := gp.rangesOf(p, w)
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

// rangesOf are the address ranges that a peer stands for, of both families.
func (gp *groupPlanner) rangesOf(p model.Peer, w model.TargetGroup) (out []string, known bool) {
	if p.VPC {
		if f := gp.unavailable(model.AskVPC{}); f != nil {
			gp.reportUnavailable(*f, "the rules of nodes and pods for target group "+w.ID+" stay as they are", finding.BlocksNothing, originsOf(w.Members)...)
			return nil, false
		}
		if gp.have.Facts.VPCRanges == nil {
			gp.ask(model.AskVPC{})
			return nil, false
		}
		return gp.have.Facts.VPCRanges, true
	}
	subnets, known, fault := gp.subnetFacts(gp.lb.subnets, gp.lb.desired.SubnetQuestion())
	if fault != nil {
		gp.reportUnavailable(*fault, "the rules of nodes and pods for target group "+w.ID+" stay as they are", finding.BlocksNothing, originsOf(w.Members)...)
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
