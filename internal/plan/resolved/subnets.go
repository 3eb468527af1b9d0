package resolved

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// AutoAssigned is the value that makes AWS choose a source NAT prefix.
const AutoAssigned = "auto_assigned"

// SubnetMappings returns the chosen subnets with their addresses. A retained subnet keeps its current addresses, because AWS
// cannot change them.
func (lb *LoadBalancer) SubnetMappings() []model.SubnetMapping {
	var out []model.SubnetMapping
	allocations := lb.elasticAddresses()
	for _, id := range lb.Subnets {
		m := model.SubnetMapping{Subnet: id, Allocation: allocations[id], PrivateIPv4: lb.PrivateIPv4[id], IPv6: lb.IPv6[id], SourceNATPrefix: lb.SourceNATPrefixes[id]}
		if had := lb.liveMapping(id); had != nil {
			m.PrivateIPv4 = retainedAddress(m.PrivateIPv4, had.PrivateIPv4)
			if had.IPv6 != "" {
				m.IPv6 = retainedAddress(m.IPv6, had.IPv6)
			}
		}
		out = append(out, m)
	}
	return out
}

// elasticAddresses returns the elastic address of each subnet, by subnet ID. A retained subnet keeps its address. A new
// subnet gets the address at the index of the subnet, or a free address if a retained subnet has the address at this index.
func (lb *LoadBalancer) elasticAddresses() map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	for _, id := range lb.Subnets {
		if had := lb.liveMapping(id); had != nil && len(lb.Addresses) > 0 {
			out[id], taken[had.Allocation] = had.Allocation, true
		}
	}
	take := func(subnet, address string) {
		if _, has := out[subnet]; !has && !taken[address] {
			out[subnet], taken[address] = address, true
		}
	}
	for i, address := range lb.Addresses {
		if i < len(lb.Subnets) {
			take(lb.Subnets[i], address)
		}
	}
	for _, id := range lb.Subnets {
		for _, address := range lb.Addresses {
			take(id, address)
		}
	}
	return out
}

// retainedAddress returns the current address in a retained subnet, because AWS cannot change it; empty if no address is
// desired.
func retainedAddress(want, live string) string {
	if want == "" {
		return ""
	}
	return live
}

// liveMapping returns the existing mapping of a network load balancer for a subnet; nil if there is none.
func (lb *LoadBalancer) liveMapping(subnet string) *model.SubnetMapping {
	if lb.Live == nil {
		return nil
	}
	for i := range lb.Live.Mappings {
		if lb.Live.Mappings[i].Subnet == subnet {
			return &lb.Live.Mappings[i]
		}
	}
	return nil
}

// SubnetChanges returns the differences that need a SetSubnets call. It is not a difference if a desired source NAT prefix
// is in another subnet than desired, or if AWS has chosen the prefix of a subnet for which no prefix is desired.
func (lb *LoadBalancer) SubnetChanges() (out []plan.Change) {
	live, w := lb.Live, lb.Desired
	if !equal.SameSet(lb.Subnets, live.Subnets) {
		out = append(out, plan.Change{Path: "subnets", From: strings.Join(live.Subnets, ", "), To: strings.Join(lb.Subnets, ", ")})
	}
	if is := cmp.Or(live.SourceNAT, equal.SettingOff); w.SourceNAT != "" && w.SourceNAT != is {
		out = append(out, plan.Change{Path: "sourceNAT", From: is, To: w.SourceNAT})
	}
	var had []string
	hadIPv6 := false
	for _, m := range live.Mappings {
		had = append(had, m.SourceNATPrefix)
		hadIPv6 = hadIPv6 || m.IPv6 != ""
	}
	for _, id := range slices.Sorted(maps.Keys(lb.SourceNATPrefixes)) {
		p := lb.SourceNATPrefixes[id]
		if p != AutoAssigned && !slices.ContainsFunc(had, func(h string) bool { return sameRange(h, p) }) {
			out = append(out, plan.Change{Path: "sourceNATPrefixes." + id, To: p})
		}
	}
	if len(lb.IPv6) > 0 && !hadIPv6 && !live.AddressType.HasIPv6() && w.AddressType.HasIPv6() {
		out = append(out, plan.Change{Path: "ipv6Addresses", To: strings.Join(slices.Sorted(maps.Values(lb.IPv6)), ", ")})
	}
	return out
}

func sameRange(a, b string) bool {
	x, errX := network.CanonicalCIDR(a)
	y, errY := network.CanonicalCIDR(b)
	return a == b || errX == nil && errY == nil && x == y
}
