package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// autoAssigned has AWS choose a source NAT prefix.
const autoAssigned = "auto_assigned"

// mappings are the chosen subnets with their addresses. AWS changes no address of a subnet that stays, so that
// the live ones are repeated there.
func (lb *loadBalancerPlan) mappings() []SubnetMapping {
	var out []SubnetMapping
	allocations := lb.allocations()
	for _, id := range lb.subnets {
		m := SubnetMapping{Subnet: id, Allocation: allocations[id], PrivateIPv4: lb.privateIPv4[id], IPv6: lb.ipv6[id], SourceNATPrefix: lb.prefixes[id]}
		if had := lb.liveMapping(id); had != nil {
			m.PrivateIPv4 = repeated(m.PrivateIPv4, had.PrivateIPv4)
			if had.IPv6 != "" {
				m.IPv6 = repeated(m.IPv6, had.IPv6)
			}
		}
		out = append(out, m)
	}
	return out
}

// allocations gives each subnet that joins the elastic address of its place, or a free one if that is of a subnet that
// stays, and each subnet that stays its own.
func (lb *loadBalancerPlan) allocations() map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	for _, id := range lb.subnets {
		if had := lb.liveMapping(id); had != nil && len(lb.addresses) > 0 {
			out[id], taken[had.Allocation] = had.Allocation, true
		}
	}
	take := func(subnet, address string) {
		if _, has := out[subnet]; !has && !taken[address] {
			out[subnet], taken[address] = address, true
		}
	}
	for i, address := range lb.addresses {
		if i < len(lb.subnets) {
			take(lb.subnets[i], address)
		}
	}
	for _, id := range lb.subnets {
		for _, address := range lb.addresses {
			take(id, address)
		}
	}
	return out
}

// repeated is the live address where one is asked for.
func repeated(want, live string) string {
	if want == "" {
		return ""
	}
	return live
}

// liveMapping is a subnet of the live network load balancer, nil if it does not have it.
func (lb *loadBalancerPlan) liveMapping(subnet string) *SubnetMapping {
	if lb.live == nil {
		return nil
	}
	for i := range lb.live.Mappings {
		if lb.live.Mappings[i].Subnet == subnet {
			return &lb.live.Mappings[i]
		}
	}
	return nil
}

// changeSubnets changes subnets and what goes with them in one call: addresses, which AWS takes for subnets
// that it adds, the source NAT of a network load balancer, and the address type where it depends on these. It
// returns the step, and whether that sets the address type.
func (ls loadBalancerSettings) changeSubnets(lb *loadBalancerPlan, after []StepID) (StepID, bool) {
	live, w, a := lb.live, lb.desired, lb.address()
	changes := lb.subnetChanges()
	ls.reportFixedAddresses(lb, len(changes) > 0)
	if len(changes) == 0 {
		return "", false
	}
	do := SetSubnets{LoadBalancer: a, Subnets: lb.mappings(), SourceNAT: w.SourceNAT}
	typed := w.Type == model.Network && w.AddressType != live.AddressType
	if typed {
		do.AddressType = w.AddressType
		changes = append(changes, addressTypeChange(lb))
	}
	field := "subnets"
	if changes[0].Path != field {
		field = "sourceNAT"
	}
	return ls.add(Step{
		ID: stepID("subnets", a), Address: a, Verb: Update, Do: do, Changes: changes,
		Why: lb.origin(field), After: after, Impact: BriefImpact, Blames: ls.members(),
	}), typed
}

func addressTypeChange(lb *loadBalancerPlan) Change {
	return Change{Path: "ipAddressType", From: string(lb.live.AddressType), To: string(lb.desired.AddressType)}
}

// subnetChanges are the differences that only setting the subnets corrects. The same prefixes are taken for the
// same whatever subnets they are in, and AWS's own for any that are not set.
func (lb *loadBalancerPlan) subnetChanges() (out []Change) {
	live, w := lb.live, lb.desired
	if !sameSet(lb.subnets, live.Subnets) {
		out = append(out, Change{Path: "subnets", From: strings.Join(live.Subnets, ", "), To: strings.Join(lb.subnets, ", ")})
	}
	if is := cmp.Or(live.SourceNAT, off); w.SourceNAT != "" && w.SourceNAT != is {
		out = append(out, Change{Path: "sourceNAT", From: is, To: w.SourceNAT})
	}
	var had []string
	hadIPv6 := false
	for _, m := range live.Mappings {
		had = append(had, m.SourceNATPrefix)
		hadIPv6 = hadIPv6 || m.IPv6 != ""
	}
	for _, id := range slices.Sorted(maps.Keys(lb.prefixes)) {
		p := lb.prefixes[id]
		if p != autoAssigned && !slices.ContainsFunc(had, func(h string) bool { return sameRange(h, p) }) {
			out = append(out, Change{Path: "sourceNATPrefixes." + id, To: p})
		}
	}
	if len(lb.ipv6) > 0 && !hadIPv6 && !live.AddressType.HasIPv6() && w.AddressType.HasIPv6() {
		out = append(out, Change{Path: "ipv6Addresses", To: strings.Join(slices.Sorted(maps.Values(lb.ipv6)), ", ")})
	}
	return out
}

func sameRange(a, b string) bool {
	x, errX := network.CanonicalCIDR(a)
	y, errY := network.CanonicalCIDR(b)
	return a == b || errX == nil && errY == nil && x == y
}

// reportFixedAddresses reports addresses that differ in subnets that stay.
func (ls loadBalancerSettings) reportFixedAddresses(lb *loadBalancerPlan, changing bool) {
	if len(lb.addresses) > 0 && !changing && !sameSet(lb.addresses, lb.live.Addresses) {
		ls.fixed("addresses", lb.desired.Origins, "the elastic addresses", strings.Join(lb.live.Addresses, ", "), strings.Join(lb.addresses, ", "))
	}
	for _, m := range lb.live.Mappings {
		if want := lb.privateIPv4[m.Subnet]; want != "" && m.PrivateIPv4 != "" && want != m.PrivateIPv4 {
			ls.fixed("privateIPv4Addresses", lb.desired.Origins, "the private address in subnet "+m.Subnet, m.PrivateIPv4, want)
		}
		if want := lb.ipv6[m.Subnet]; want != "" && m.IPv6 != "" && want != m.IPv6 {
			ls.fixed("ipv6Addresses", lb.desired.Origins, "the IPv6 address in subnet "+m.Subnet, m.IPv6, want)
		}
	}
}

// subnetFacts are subnets as AWS describes them, in order; false while that is not known. They may be among the answers to
// a question that was asked for them. Live ones that are kept without being asked for are asked for here, and fault is
// why there is no answer.
func (d *draft) subnetFacts(ids []string, asked model.AskSubnets) (out []observed.Subnet, known bool, fault *observed.Fault) {
	q := subnetsByID(ids)
	for _, id := range ids {
		for _, key := range []string{asked.Key(), q.Key()} {
			of := d.have.Facts.Subnets[key].Candidates
			if at := slices.IndexFunc(of, func(s observed.Subnet) bool { return s.ID == id }); at >= 0 {
				out = append(out, of[at])
				break
			}
		}
	}
	if len(out) == len(ids) {
		return out, true, nil
	}
	if f := d.unavailable(q); f != nil {
		return nil, false, f
	}
	if _, asked := d.have.Facts.Subnets[q.Key()]; !asked {
		d.ask(q)
	}
	return nil, false, nil
}

// subnetsByID is the question for subnets that are known by their ids.
func subnetsByID(ids []string) model.AskSubnets {
	return model.SubnetQuestion(model.SubnetsNamed{Refs: slices.Sorted(slices.Values(ids))}, "", true)
}

// resolveAddresses takes the addresses if there is one for each subnet.
func (r *resolution) resolveAddresses() {
	w := r.lb.desired
	r.lb.addresses = w.Addresses
	if n := len(w.Addresses); n > 0 && len(r.lb.subnets) > 0 && n != len(r.lb.subnets) {
		r.lb.addresses = nil
		if r.lb.live != nil {
			r.lb.addresses = r.lb.live.Addresses
		}
		r.unfitAddresses("addresses", describe(n, "elastic address")+" for "+describe(len(r.lb.subnets), "subnet"))
	}
	r.lb.privateIPv4 = r.place("privateIPv4Addresses", w.PrivateIPv4, func(s observed.Subnet) []string { return []string{s.CIDR} })
	r.lb.ipv6 = r.place("ipv6Addresses", w.IPv6, func(s observed.Subnet) []string { return s.IPv6CIDRs })
	r.lb.prefixes = r.place("sourceNATPrefixes", w.SourceNATPrefixes, func(s observed.Subnet) []string { return s.IPv6CIDRs })
}

// place gives each subnet the one of the addresses, or of the prefixes, that is within its ranges. What AWS is
// to choose goes to the subnets that are left.
func (r *resolution) place(field string, addresses []string, ranges func(observed.Subnet) []string) map[string]string {
	if len(addresses) == 0 || len(r.lb.subnets) == 0 {
		return nil
	}
	if len(addresses) != len(r.lb.subnets) {
		r.unfitAddresses(field, describe(len(addresses), addressNoun(field))+" for "+describe(len(r.lb.subnets), "subnet"))
		return nil
	}
	subnets, known, _ := r.subnetFacts(r.lb.subnets, r.lb.desired.SubnetQuestion())
	if !known {
		return nil
	}
	out, chosen := map[string]string{}, 0
	for _, address := range addresses {
		if address == autoAssigned {
			chosen++
			continue
		}
		plain, _, _ := strings.Cut(address, "/")
		at := slices.IndexFunc(subnets, func(s observed.Subnet) bool {
			return out[s.ID] == "" && network.InRanges(plain, ranges(s))
		})
		if at < 0 {
			r.unfitAddresses(field, addressNoun(field)+" \""+address+"\" is in none of the subnets "+strings.Join(r.lb.subnets, ", ")+", or in one that has another")
			return nil
		}
		out[subnets[at].ID] = address
	}
	for _, s := range subnets {
		if out[s.ID] == "" && chosen > 0 {
			out[s.ID] = autoAssigned
		}
	}
	return out
}

func addressNoun(field string) string {
	switch field {
	case "sourceNATPrefixes":
		return "source NAT prefix"
	case "ipv6Addresses":
		return "IPv6 address"
	}
	return "private address"
}

func (r *resolution) unfitAddresses(field, message string) {
	of := r.lb.desired.Origins[field]
	if r.lb.live != nil {
		message += "; the load balancer keeps the addresses that it has"
	} else {
		message += "; no load balancer is made"
	}
	r.unfit(finding.Finding{
		Object: r.blameable(of.Object), Field: of.Field, Reason: finding.SubnetsUnsuitable, Blocks: finding.BlocksStack,
		Message: message, Fix: "give one address for each subnet",
	}, "addresses")
}
