package elbv2

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	// autoAssigned is the value in a request for any free prefix of the subnet.
	autoAssigned = "auto_assigned"
	// natPrefixBits is the length of a source NAT prefix in bits.
	natPrefixBits = 80
)

// checkSourceNAT checks the source NAT prefixes in a request for a load balancer.
func checkSourceNAT(p *store.Partition, want placement, zones []store.LoadBalancerZone) error {
	if want.sourceNATPrefix != "" && want.lb.IsALB() {
		return configurationError(store.UnprovenSource, "'EnablePrefixForIpv6SourceNat' can only be specified for LoadBalancer type 'network'.")
	}
	if want.sourceNATPrefix == types.EnablePrefixForIpv6SourceNatEnumOn && want.addressing != types.IpAddressTypeDualstack {
		return configurationError(store.UnprovenSource, "'EnablePrefixForIpv6SourceNat' can only be specified when using IpAddressType 'dualstack'.")
	}
	on := cmp.Or(want.sourceNATPrefix, want.lb.PrefixForSourceNAT) == types.EnablePrefixForIpv6SourceNatEnumOn
	for _, z := range zones {
		if z.SourceNATIPv6Prefix == "" {
			continue
		}
		if !on {
			return configurationError(store.UnprovenSource, "A source NAT prefix can only be specified for subnet '%s' when 'EnablePrefixForIpv6SourceNat' is 'on'", z.Subnet)
		}
		if z.SourceNATIPv6Prefix == autoAssigned {
			continue
		}
		block, err := netip.ParsePrefix(z.SourceNATIPv6Prefix)
		sub := p.Subnets[z.Subnet]
		if err != nil || block.Bits() != natPrefixBits || len(sub.IPv6) == 0 || !sub.IPv6[0].Block.Contains(block.Addr()) {
			return configurationError(store.UnprovenSource, "'%s' is not a valid source NAT prefix for subnet '%s': it must be 'auto_assigned' or a /80 of the subnet", z.SourceNATIPv6Prefix, z.Subnet)
		}
		if usedNATPrefixes(p, want.lb)[block.Masked()] {
			return configurationError(store.UnprovenSource, "The source NAT prefix '%s' is in use by another load balancer", z.SourceNATIPv6Prefix)
		}
	}
	return nil
}

// usedNATPrefixes returns the source NAT prefixes of all load balancers except the load balancer "but".
func usedNATPrefixes(p *store.Partition, but *store.LoadBalancer) map[netip.Prefix]bool {
	taken := map[netip.Prefix]bool{}
	for _, lb := range p.ELB.LoadBalancers {
		if lb.ARN == but.ARN {
			continue
		}
		for _, z := range lb.Zones {
			if block, err := netip.ParsePrefix(z.NATPrefix); err == nil {
				taken[block] = true
			}
		}
	}
	return taken
}

// assignSourceNAT sets the source NAT prefix of each zone. For a dual-stack NLB that uses source NAT prefixes, this is
// the requested prefix, or else the current prefix, or else a free prefix of the subnet. For any other load balancer, it
// removes the prefixes.
func assignSourceNAT(p *store.Partition, lb *store.LoadBalancer) {
	on := lb.PrefixForSourceNAT == types.EnablePrefixForIpv6SourceNatEnumOn && lb.Addressing == types.IpAddressTypeDualstack
	taken := usedNATPrefixes(p, lb)
	for i := range lb.Zones {
		z := &lb.Zones[i]
		sub := p.Subnets[z.Subnet]
		switch {
		case !on || sub == nil || len(sub.IPv6) == 0:
			z.SourceNATIPv6Prefix, z.NATPrefix = "", ""
		case z.SourceNATIPv6Prefix != "" && z.SourceNATIPv6Prefix != autoAssigned:
			z.NATPrefix = netip.MustParsePrefix(z.SourceNATIPv6Prefix).Masked().String() // checkSourceNAT has checked the prefix
		case z.NATPrefix == "":
			z.NATPrefix = freePrefix(sub.IPv6[0].Block, taken).String()
		}
	}
}

// freePrefix returns the first free /80 of a subnet's /64 block that is not in taken. It skips the first /80 of the block,
// from which ENIs get their addresses.
func freePrefix(block netip.Prefix, taken map[netip.Prefix]bool) netip.Prefix {
	for n := uint16(1); ; n++ {
		a := block.Masked().Addr().As16()
		a[8], a[9] = byte(n>>8), byte(n)
		if free := netip.PrefixFrom(netip.AddrFrom16(a), natPrefixBits); !taken[free] {
			return free
		}
	}
}

// checkIPv6Free returns an error if an ENI of another resource has the IPv6 address of a zone. CreateLoadBalancer does
// not call checkIPv6Free: it sets the state of the load balancer to "failed".
func checkIPv6Free(p *store.Partition, lb *store.LoadBalancer, zones []store.LoadBalancerZone) error {
	for _, z := range zones {
		a, err := netip.ParseAddr(z.IPv6)
		if err != nil {
			continue
		}
		if holder := p.ENIWithIPv6(z.Subnet, a); holder != "" && !ownsENI(lb, holder) {
			return configurationError(store.UnprovenSource, "The IPv6 address '%s' is in use", z.IPv6)
		}
	}
	return nil
}

// ownsENI reports whether an ENI belongs to a node of the load balancer.
func ownsENI(lb *store.LoadBalancer, eni string) bool {
	return slices.ContainsFunc(lb.Zones, func(z store.LoadBalancerZone) bool { return z.ENI == eni })
}
