package elbv2

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// minFreeAddresses is the number of free IPv4 addresses that a load balancer needs in a new subnet.
const minFreeAddresses = 8

const zoneTypeAvailability = "availability-zone"

// placement contains the subnets and the IP address settings in a request. lb is the new or existing load balancer.
type placement struct {
	lb              *store.LoadBalancer
	subnets         []string
	mappings        []types.SubnetMapping
	addressing      types.IpAddressType
	sourceNATPrefix types.EnablePrefixForIpv6SourceNatEnum
}

// chooseSubnets returns the zones of the subnets in a request, sorted by zone. It returns an error if a subnet does not
// exist, if the number of subnets is wrong, or if two subnets are in the same zone.
func (s *loadBalancers) chooseSubnets(p *store.Partition, want placement) ([]store.LoadBalancerZone, error) {
	if (len(want.subnets) == 0) == (len(want.mappings) == 0) {
		return nil, validationError(store.UnprovenSource, "You must specify either subnets or subnet mappings")
	}
	mappings := want.mappings
	for _, id := range want.subnets {
		mappings = append(mappings, types.SubnetMapping{SubnetId: new(id)})
	}
	var zones []store.LoadBalancerZone
	var unknown []string
	ordinary := true // no subnet is in an Outpost, a Local Zone or a Wavelength Zone
	for _, m := range mappings {
		sub := p.Subnets[store.Value(m.SubnetId)]
		if sub == nil {
			unknown = append(unknown, store.Value(m.SubnetId))
			continue
		}
		if z := p.ZoneByName(sub.Zone); sub.OutpostARN != "" || z != nil && z.Type != zoneTypeAvailability {
			ordinary = false
		}
		zones = append(zones, store.LoadBalancerZone{
			Zone: sub.Zone, Subnet: sub.ID, Allocation: store.Value(m.AllocationId), PrivateIPv4: store.Value(m.PrivateIPv4Address),
			IPv6: store.Value(m.IPv6Address), SourceNATIPv6Prefix: store.Value(m.SourceNatIpv6Prefix),
		})
	}
	if want.lb.IsALB() && ordinary && len(mappings) < 2 {
		return nil, validationError(store.ReportSource("kasmtech/terraform#5"), "At least two subnets in two different Availability Zones must be specified")
	}
	if len(unknown) == 1 {
		return nil, store.Errorf(store.UnprovenSource, "SubnetNotFound", "The subnet ID '%s' does not exist", unknown[0])
	}
	if len(unknown) > 1 {
		return nil, store.Errorf(store.UnprovenSource, "SubnetNotFound", "The subnet IDs '%s' do not exist", strings.Join(unknown, ", "))
	}
	slices.SortFunc(zones, func(a, b store.LoadBalancerZone) int { return strings.Compare(a.Zone, b.Zone) })
	for i := 1; i < len(zones); i++ {
		if zones[i].Zone == zones[i-1].Zone {
			return nil, configurationError(store.ReportSource("robertdebock/terraform-aws-vault#5"), "A load balancer cannot be attached to multiple subnets in the same Availability Zone")
		}
	}
	return zones, nil
}

// checkPlacement checks that a load balancer can have nodes in the zones. A zone needs no free addresses if the load
// balancer already has a node in its subnet.
func (s *loadBalancers) checkPlacement(p *store.Partition, want placement, vpc string, zones []store.LoadBalancerZone) error {
	lb := want.lb
	for _, z := range zones {
		if p.Subnets[z.Subnet].VPCID != vpc {
			return configurationError(store.UnprovenSource, "All subnets must belong to the same VPC: '%s'", vpc)
		}
	}
	for _, z := range zones {
		sub := p.Subnets[z.Subnet]
		kept := slices.ContainsFunc(lb.Zones, func(have store.LoadBalancerZone) bool { return have.ENI != "" && have.Subnet == z.Subnet })
		if kept {
			continue
		}
		if sub.IsIPv6Native() || z.PrivateIPv4 == "" && p.CountFreeIPv4(sub) < minFreeAddresses {
			return store.Errorf(store.ReportSource("aws/aws-rfdk#621"), "InvalidSubnet", "Not enough IP space available in %s. ELB requires at least %d free IP addresses in each subnet.", sub.ID, minFreeAddresses)
		}
	}
	if lb.Scheme == types.LoadBalancerSchemeEnumInternetFacing && !p.HasInternetGateway(vpc) {
		return store.Errorf(store.ReportSource("openshift/installer#1110"), "InvalidSubnet", "VPC %s has no internet gateway", vpc)
	}
	if err := checkAddresses(p, lb, want.addressing, zones); err != nil {
		return err
	}
	if err := checkAddressing(p, lb, want.addressing, zones); err != nil {
		return err
	}
	if err := checkSourceNAT(p, want, zones); err != nil {
		return err
	}
	return s.checkNLBZones(p, lb, zones)
}

// checkAddresses checks the Elastic IP addresses, private IPv4 addresses and IPv6 addresses that a request assigns to zones.
func checkAddresses(p *store.Partition, lb *store.LoadBalancer, addressing types.IpAddressType, zones []store.LoadBalancerZone) error {
	internal := lb.Scheme == types.LoadBalancerSchemeEnumInternal
	elastic, private := 0, 0
	for _, z := range zones {
		sub := p.Subnets[z.Subnet]
		if z.Allocation != "" {
			elastic++
			if lb.IsALB() {
				return configurationError(store.UnprovenSource, "Elastic IPs are not supported for load balancers with type 'application'")
			}
			if internal {
				return configurationError(store.UnprovenSource, "Elastic IPs are not supported for load balancers with scheme 'internal'")
			}
			if z.PrivateIPv4 != "" {
				return configurationError(store.UnprovenSource, "You cannot specify both an allocation ID and a private IPv4 address for subnet '%s'", z.Subnet)
			}
		}
		if z.PrivateIPv4 != "" {
			private++
			if lb.IsALB() || !internal {
				return configurationError(store.UnprovenSource, "You can only specify private IPv4 addresses for Network Load Balancers with scheme 'internal'.")
			}
			a, err := netip.ParseAddr(z.PrivateIPv4)
			if err != nil || !a.Is4() || !sub.CIDR.Contains(a) {
				return configurationError(store.UnprovenSource, "The private IPv4 address '%s' is not in the range of subnet '%s'", z.PrivateIPv4, z.Subnet)
			}
		}
		if z.IPv6 != "" {
			a, err := netip.ParseAddr(z.IPv6)
			if lb.IsALB() || addressing != types.IpAddressTypeDualstack || err != nil || len(sub.IPv6) == 0 || !sub.IPv6[0].Block.Contains(a) {
				return configurationError(store.UnprovenSource, "The IPv6 address '%s' cannot be used in subnet '%s'", z.IPv6, z.Subnet)
			}
		}
	}
	if elastic > 0 && elastic < len(zones) {
		return configurationError(store.UnprovenSource, "You must specify an allocation ID for all subnets or for none")
	}
	if private > 0 && private < len(zones) {
		return configurationError(store.UnprovenSource, "You must specify a private IPv4 address for all subnets or for none")
	}
	seen := map[string]bool{}
	for _, z := range zones {
		if z.Allocation == "" {
			continue
		}
		a := p.Addresses[z.Allocation]
		if a == nil {
			return store.Errorf(store.UnprovenSource, "AllocationIdNotFound", "The allocation ID '%s' does not exist", z.Allocation)
		}
		ours := slices.ContainsFunc(lb.Zones, func(have store.LoadBalancerZone) bool { return have.ENI != "" && have.Allocation == z.Allocation })
		if seen[z.Allocation] || a.AssociationID != "" && !ours {
			return store.Errorf(store.ReportSource("hashicorp/terraform-provider-aws#15031"), codeInUse, "The allocation IDs are not available for use")
		}
		seen[z.Allocation] = true
	}
	return nil
}

// checkAddressing checks that the subnets of the zones and the load balancer support the IP address type want.
func checkAddressing(p *store.Partition, lb *store.LoadBalancer, want types.IpAddressType, zones []store.LoadBalancerZone) error {
	if want == types.IpAddressTypeIpv4 {
		return nil
	}
	for _, z := range zones {
		if len(p.Subnets[z.Subnet].IPv6) == 0 {
			return store.Errorf(store.UnprovenSource, "InvalidSubnet", "You must specify subnets with an associated IPv6 CIDR block.")
		}
	}
	if want == types.IpAddressTypeDualstackWithoutPublicIpv4 && (!lb.IsALB() || lb.Scheme == types.LoadBalancerSchemeEnumInternal) {
		return configurationError(store.UnprovenSource, "IP address type '%s' is only supported for internet-facing load balancers with type 'application'", want)
	}
	return nil
}

// checkNLBZones returns an error if lb is an NLB and a zone does not support NLBs.
func (s *loadBalancers) checkNLBZones(p *store.Partition, lb *store.LoadBalancer, zones []store.LoadBalancerZone) error {
	if lb.IsALB() {
		return nil
	}
	for _, z := range zones {
		zone := p.ZoneByName(z.Zone)
		if slices.Contains(s.store.Config.ELB.UnsupportedNLBZones, z.Zone) || zone != nil && zone.Type != zoneTypeAvailability {
			return store.Errorf(store.UnprovenSource, "AvailabilityZoneNotSupported", "Load balancers with type 'network' are not supported in %s", z.Zone)
		}
	}
	return nil
}

// SetSubnets replaces the subnets of a load balancer. It creates nodes in new subnets and deletes those in removed subnets.
func (s *loadBalancers) SetSubnets(c *store.Call, in *elb.SetSubnetsInput) (*elb.SetSubnetsOutput, error) {
	var sh validation
	sh.checkPresent("loadBalancerArn", in.LoadBalancerArn != nil)
	checkEnum(&sh, "ipAddressType", in.IpAddressType, in.IpAddressType.Values())
	checkEnum(&sh, "enablePrefixForIpv6SourceNat", in.EnablePrefixForIpv6SourceNat, in.EnablePrefixForIpv6SourceNat.Values())
	if err := sh.err(); err != nil {
		return nil, err
	}
	p, st := c.Partition, c.Partition.ELB
	lb, err := findLoadBalancer(st, in.LoadBalancerArn)
	if err != nil {
		return nil, err
	}
	want := placement{
		lb: lb, subnets: in.Subnets, mappings: in.SubnetMappings,
		addressing: cmp.Or(in.IpAddressType, lb.Addressing), sourceNATPrefix: in.EnablePrefixForIpv6SourceNat,
	}
	zones, err := s.chooseSubnets(p, want)
	if err != nil {
		return nil, err
	}
	if c.Now.Before(lb.Capacity.Ready) {
		return nil, store.Errorf(store.UnprovenSource, "CapacityReservationPending", "There is a pending capacity reservation on load balancer '%s'", lb.ARN)
	}
	if err := s.checkZoneChanges(lb, zones); err != nil {
		return nil, err
	}
	if err := s.checkENIQuota(st, lb, max(len(zones)-len(lb.Zones), 0)); err != nil {
		return nil, err
	}
	inheritAddresses(lb, zones)
	if err := s.checkPlacement(p, want, lb.VPC, zones); err != nil {
		return nil, err
	}
	prefix := cmp.Or(in.EnablePrefixForIpv6SourceNat, lb.PrefixForSourceNAT)
	if want.addressing != lb.Addressing || prefix != lb.PrefixForSourceNAT {
		if err := s.checkNewAddressing(p, st, lb, want.addressing, zones, prefix); err != nil {
			return nil, err
		}
	}
	if err := checkIPv6Free(p, lb, zones); err != nil {
		return nil, err
	}
	if err := s.replaceNodes(p, lb, zones); err != nil {
		return nil, err
	}
	lb.Addressing = want.addressing
	if err := s.assignAddresses(p, lb); err != nil {
		return nil, err
	}
	lb.PrefixForSourceNAT = prefix
	assignSourceNAT(p, lb)
	return &elb.SetSubnetsOutput{
		AvailabilityZones: s.describeZones(lb), IpAddressType: lb.Addressing, EnablePrefixForIpv6SourceNat: lb.PrefixForSourceNAT,
	}, nil
}

// checkZoneChanges returns an error if a request changes the subnet or the addresses of a zone in which an NLB already has
// a node.
func (s *loadBalancers) checkZoneChanges(lb *store.LoadBalancer, zones []store.LoadBalancerZone) error {
	if lb.IsALB() {
		return nil
	}
	for _, z := range zones {
		for _, have := range lb.Zones {
			if have.Zone != z.Zone {
				continue
			}
			if have.Subnet != z.Subnet {
				return configurationError(store.ReportSource("kubernetes-sigs/aws-load-balancer-controller#4171"),
					"You cannot specify an additional subnet from an Availability Zone that is already associated with the load balancer. The Availability Zone '%s' corresponding to the new subnet '%s' is already associated with the load balancer.", z.Zone, z.Subnet)
			}
			if z.Allocation != "" && have.Allocation != z.Allocation || z.PrivateIPv4 != "" && have.PrivateIPv4 != z.PrivateIPv4 ||
				z.IPv6 != "" && have.IPv6 != "" && have.IPv6 != z.IPv6 {
				return configurationError(store.UnprovenSource, "The addresses of subnet '%s' cannot be changed", z.Subnet)
			}
		}
	}
	return nil
}

// inheritAddresses copies the allocation IDs and private IPv4 addresses of an NLB's current zones to the zones in a request
// with the same subnets. The request cannot change them, see checkZoneChanges.
func inheritAddresses(lb *store.LoadBalancer, zones []store.LoadBalancerZone) {
	if lb.IsALB() {
		return
	}
	for i := range zones {
		for _, have := range lb.Zones {
			if have.Subnet == zones[i].Subnet {
				zones[i].Allocation, zones[i].PrivateIPv4 = have.Allocation, have.PrivateIPv4
			}
		}
	}
}
