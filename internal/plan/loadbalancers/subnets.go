package loadbalancers

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// changeSubnets plans to change the subnets and, in the same call, the settings that AWS accepts only together with subnets:
// addresses in new subnets, source NAT, and the address type of a network load balancer. It returns the step, which is empty
// if nothing changes, and reports whether the step sets the address type.
func (p *Planner) changeSubnets(lb *resolved.LoadBalancer, after []plan.StepID) (plan.StepID, bool) {
	live, w, a := lb.Live, lb.Desired, lb.Address()
	changes := lb.SubnetChanges()
	p.reportImmutableAddresses(lb, len(changes) > 0)
	if len(changes) == 0 {
		return "", false
	}
	do := plan.SetSubnets{LoadBalancer: a, Subnets: lb.SubnetMappings(), SourceNAT: w.SourceNAT}
	typed := w.Type == model.Network && w.AddressType != live.AddressType
	if typed {
		do.AddressType = w.AddressType
		changes = append(changes, addressTypeChange(lb))
	}
	field := "subnets"
	if changes[0].Path != field {
		field = "sourceNAT"
	}
	return p.Add(plan.Step{
		ID: plan.NewStepID("subnets", a), Address: a, Verb: plan.Update, Do: do, Changes: changes,
		Why: lb.OriginText(field), After: after, Impact: plan.BriefImpact, RequestedBy: p.Members(),
	}), typed
}

func addressTypeChange(lb *resolved.LoadBalancer) plan.Change {
	return plan.Change{Path: "ipAddressType", From: string(lb.Live.AddressType), To: string(lb.Desired.AddressType)}
}

// reportImmutableAddresses reports desired addresses that AWS cannot set, because the load balancer already has other
// addresses in the same subnets. changing reports whether the plan changes subnets, in which case elastic addresses are not
// reported.
func (p *Planner) reportImmutableAddresses(lb *resolved.LoadBalancer, changing bool) {
	if len(lb.Addresses) > 0 && !changing && !equal.SameSet(lb.Addresses, lb.Live.Addresses) {
		p.reportImmutable("addresses", lb.Desired.Origins, "the elastic addresses", strings.Join(lb.Live.Addresses, ", "), strings.Join(lb.Addresses, ", "))
	}
	for _, m := range lb.Live.Mappings {
		if want := lb.PrivateIPv4[m.Subnet]; want != "" && m.PrivateIPv4 != "" && want != m.PrivateIPv4 {
			p.reportImmutable("privateIPv4Addresses", lb.Desired.Origins, "the private address in subnet "+m.Subnet, m.PrivateIPv4, want)
		}
		if want := lb.IPv6[m.Subnet]; want != "" && m.IPv6 != "" && want != m.IPv6 {
			p.reportImmutable("ipv6Addresses", lb.Desired.Origins, "the IPv6 address in subnet "+m.Subnet, m.IPv6, want)
		}
	}
}

// resolveAddresses chooses the elastic, private IPv4 and IPv6 addresses and the source NAT prefixes. If the number of
// elastic addresses is not the number of subnets, an existing load balancer keeps its elastic addresses.
func (r *resolver) resolveAddresses() {
	w := r.lb.Desired
	r.lb.Addresses = w.Addresses
	if n := len(w.Addresses); n > 0 && len(r.lb.Subnets) > 0 && n != len(r.lb.Subnets) {
		r.lb.Addresses = nil
		if r.lb.Live != nil {
			r.lb.Addresses = r.lb.Live.Addresses
		}
		r.reportUnsuitableAddresses("addresses", plan.CountText(n, "elastic address")+" for "+plan.CountText(len(r.lb.Subnets), "subnet"))
	}
	r.lb.PrivateIPv4 = r.assignAddresses("privateIPv4Addresses", w.PrivateIPv4, func(s observed.Subnet) []string { return []string{s.CIDR} })
	r.lb.IPv6 = r.assignAddresses("ipv6Addresses", w.IPv6, func(s observed.Subnet) []string { return s.IPv6CIDRs })
	r.lb.SourceNATPrefixes = r.assignAddresses("sourceNATPrefixes", w.SourceNATPrefixes, func(s observed.Subnet) []string { return s.IPv6CIDRs })
}

// assignAddresses returns, by subnet ID, the desired address or prefix that is within the ranges of the subnet. A subnet
// without such an address gets resolved.AutoAssigned if that is among the desired values. ranges returns the ranges of a
// subnet. The result is nil if nothing is desired, if facts are missing, or if an address fits no subnet.
func (r *resolver) assignAddresses(field string, addresses []string, ranges func(observed.Subnet) []string) map[string]string {
	if len(addresses) == 0 || len(r.lb.Subnets) == 0 {
		return nil
	}
	if len(addresses) != len(r.lb.Subnets) {
		r.reportUnsuitableAddresses(field, plan.CountText(len(addresses), addressNoun(field))+" for "+plan.CountText(len(r.lb.Subnets), "subnet"))
		return nil
	}
	subnets, known, _ := r.SubnetFacts(r.lb.Subnets, r.lb.Desired.SubnetQuestion())
	if !known {
		return nil
	}
	out, chosen := map[string]string{}, 0
	for _, address := range addresses {
		if address == resolved.AutoAssigned {
			chosen++
			continue
		}
		plain, _, _ := strings.Cut(address, "/")
		at := slices.IndexFunc(subnets, func(s observed.Subnet) bool {
			return out[s.ID] == "" && network.IsInRanges(plain, ranges(s))
		})
		if at < 0 {
			r.reportUnsuitableAddresses(field, addressNoun(field)+" \""+address+"\" is in none of the subnets "+strings.Join(r.lb.Subnets, ", ")+", or its subnet has another address of the list")
			return nil
		}
		out[subnets[at].ID] = address
	}
	for _, s := range subnets {
		if out[s.ID] == "" && chosen > 0 {
			out[s.ID] = resolved.AutoAssigned
		}
	}
	return out
}

// addressNoun returns, for messages, the noun for the addresses in a field.
func addressNoun(field string) string {
	switch field {
	case "sourceNATPrefixes":
		return "source NAT prefix"
	case "ipv6Addresses":
		return "IPv6 address"
	}
	return "private address"
}

// reportUnsuitableAddresses reports addresses that cannot be used with the chosen subnets.
func (r *resolver) reportUnsuitableAddresses(field, message string) {
	of := r.lb.Desired.Origins[field]
	switch {
	case r.lb.IsFrontend(): // reportUnsuitableSetting adds what happens to a frontend NLB
	case r.lb.Live != nil:
		message += "; the load balancer keeps its current addresses"
	default:
		message += "; no load balancer is created"
	}
	r.reportUnsuitableSetting(finding.Finding{
		Object: r.EventObject(of.Object), Field: of.Field, Reason: finding.SubnetsUnsuitable, Blocks: finding.BlocksStack,
		Message: message, Fix: "set one address for each subnet",
	}, "addresses")
}
