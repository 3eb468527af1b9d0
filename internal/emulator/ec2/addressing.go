package ec2

import (
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// eniRequest contains the properties of a new ENI.
type eniRequest struct {
	securityGroups []string
	description    string
	eniType        string
	primaryAddress *string
	addresses      []string // secondary IPv4 addresses
	secondaryCount int      // number of further secondary IPv4 addresses, which are free addresses of the subnet
	ipv6Count      int
	ipv6Addresses  []string
	prefixes       []string
}

// newENI creates an ENI in a subnet. After an error the state is unchanged.
func (s *instances) newENI(p *store.Partition, sub *store.Subnet, want eniRequest) (*store.NetworkInterface, *store.Error) {
	groups, err := s.resolveSecurityGroups(p, sub.VPCID, want.securityGroups)
	if err != nil {
		return nil, err
	}
	eni := p.CreateENI(sub)
	eni.Groups, eni.Description = groups, want.description
	if want.eniType != "" {
		eni.Type = want.eniType
	}
	if err := s.assignAddresses(p, sub, eni, want); err != nil {
		p.RemoveENI(eni.ID)
		return nil, err
	}
	return eni, nil
}

func (s *instances) assignAddresses(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, want eniRequest) *store.Error {
	if want.primaryAddress != nil {
		if err := addPrivateAddresses(p, sub, eni, []string{*want.primaryAddress}); err != nil {
			return err
		}
	} else if !sub.IsIPv6Native() {
		if err := addFreeAddresses(p, sub, eni, 1); err != nil {
			return err
		}
	}
	if err := addPrivateAddresses(p, sub, eni, want.addresses); err != nil {
		return err
	}
	if err := addFreeAddresses(p, sub, eni, want.secondaryCount); err != nil {
		return err
	}
	if err := addPrefixes(p, sub, eni, want.prefixes); err != nil {
		return err
	}
	n := want.ipv6Count
	if n == 0 && len(want.ipv6Addresses) == 0 && (sub.AssignIPv6 || sub.IsIPv6Native()) {
		n = 1
	}
	return addIPv6Addresses(p, sub, eni, want.ipv6Addresses, n)
}

// addPrivateAddresses adds the given private IPv4 addresses to an ENI. The first address of an ENI becomes its primary
// address.
func addPrivateAddresses(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, texts []string) *store.Error {
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is4() {
			return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "invalid value for parameter address: %s", text)
		}
		if err := p.CheckFreeIPv4(sub, a); err != nil {
			return err
		}
		eni.Private = append(eni.Private, store.PrivateAddress{Addr: a, Primary: len(eni.Private) == 0})
	}
	return nil
}

// addFreeAddresses adds n free private IPv4 addresses of the subnet to an ENI.
func addFreeAddresses(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, n int) *store.Error {
	if n == 0 {
		return nil
	}
	addrs, err := p.FindFreeIPv4Addresses(sub, n)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		eni.Private = append(eni.Private, store.PrivateAddress{Addr: a, Primary: len(eni.Private) == 0})
	}
	return nil
}

func addIPv6Addresses(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, texts []string, n int) *store.Error {
	for _, text := range texts {
		a, err := netip.ParseAddr(text)
		if err != nil || len(sub.IPv6) == 0 || !sub.IPv6[0].Block.Contains(a) {
			return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Address %s does not fall within the subnet's address range", text)
		}
		eni.IPv6 = append(eni.IPv6, a)
	}
	if n == 0 {
		return nil
	}
	addrs, err := p.FindFreeIPv6Addresses(sub, n)
	if err != nil {
		return err
	}
	eni.IPv6 = append(eni.IPv6, addrs...)
	return nil
}

// addPrefixes adds the given /28 or /80 blocks of the subnet to an ENI.
func addPrefixes(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, texts []string) *store.Error {
	for _, text := range texts {
		block, err := netip.ParsePrefix(text)
		if err != nil {
			return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "invalid value for parameter prefix: %s", text)
		}
		block = block.Masked()
		switch {
		case block.Addr().Is4() && block.Bits() == 28 && sub.CIDR.IsValid() && sub.CIDR.Contains(block.Addr()):
			for a := block.Addr(); block.Contains(a); a = a.Next() {
				if err := p.CheckFreeIPv4(sub, a); err != nil {
					return err
				}
			}
			eni.IPv4Prefixes = append(eni.IPv4Prefixes, block)
		case block.Addr().Is6() && block.Bits() == 80 && len(sub.IPv6) > 0 && sub.IPv6[0].Block.Contains(block.Addr()):
			if isIPv6InUse(p, sub.ID, block) {
				return store.Errorf(store.UnprovenSource, "InvalidIPAddress.InUse", "Address %s is in use.", block)
			}
			eni.IPv6Prefixes = append(eni.IPv6Prefixes, block)
		default:
			return store.Errorf(store.UnprovenSource, "InvalidParameterValue", "The prefix %s is not a /28 or /80 of the subnet", text)
		}
	}
	return nil
}

// isIPv6InUse reports whether an ENI in a subnet has an IPv6 address in a block, or a prefix that overlaps the block.
func isIPv6InUse(p *store.Partition, subnetID string, block netip.Prefix) bool {
	for _, eni := range p.NetworkInterfaces {
		if eni.SubnetID == subnetID && (slices.ContainsFunc(eni.IPv6, block.Contains) || slices.ContainsFunc(eni.IPv6Prefixes, block.Overlaps)) {
			return true
		}
	}
	return false
}

// AssignPrivateIpAddresses adds secondary addresses and prefixes to an ENI: those in the request, or a number of free ones.
// After an error all ENIs are unchanged.
func (s *instances) AssignPrivateIpAddresses(c *store.Call, in *ec2.AssignPrivateIpAddressesInput) (*ec2.AssignPrivateIpAddressesOutput, error) {
	p := c.Partition
	eni, err := findResource(kindENI, p.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if eni.RequesterManaged {
		return nil, managedByServiceError(eni)
	}
	sub := p.Subnets[eni.SubnetID]
	before, prefixes := slices.Clone(eni.Private), slices.Clone(eni.IPv4Prefixes)
	if err := s.assignPrivateAddresses(p, sub, eni, in); err != nil {
		eni.Private, eni.IPv4Prefixes = before, prefixes
		if err.Code == "InvalidIPAddress.InUse" {
			err.Code = "InvalidParameterValue" // the code of this operation
		}
		return nil, err
	}
	out := &ec2.AssignPrivateIpAddressesOutput{NetworkInterfaceId: aws.String(eni.ID)}
	for _, a := range eni.Private[len(before):] {
		out.AssignedPrivateIpAddresses = append(out.AssignedPrivateIpAddresses, types.AssignedPrivateIpAddress{PrivateIpAddress: aws.String(a.Addr.String())})
	}
	for _, b := range eni.IPv4Prefixes[len(prefixes):] {
		out.AssignedIpv4Prefixes = append(out.AssignedIpv4Prefixes, types.Ipv4PrefixSpecification{Ipv4Prefix: aws.String(b.String())})
	}
	return out, nil
}

func (s *instances) assignPrivateAddresses(p *store.Partition, sub *store.Subnet, eni *store.NetworkInterface, in *ec2.AssignPrivateIpAddressesInput) (err *store.Error) {
	if aws.ToBool(in.AllowReassignment) {
		restore := removeFromOtherENIs(p, eni, in.PrivateIpAddresses)
		defer func() {
			if err != nil {
				restore()
			}
		}()
	}
	if err := addPrivateAddresses(p, sub, eni, in.PrivateIpAddresses); err != nil {
		return err
	}
	if err := addFreeAddresses(p, sub, eni, int(aws.ToInt32(in.SecondaryPrivateIpAddressCount))); err != nil {
		return err
	}
	if err := addPrefixes(p, sub, eni, in.Ipv4Prefixes); err != nil {
		return err
	}
	for range aws.ToInt32(in.Ipv4PrefixCount) {
		block, err := freePrefix(p, sub)
		if err != nil {
			return err
		}
		eni.IPv4Prefixes = append(eni.IPv4Prefixes, block)
	}
	return nil
}

// removeFromOtherENIs removes secondary addresses from all ENIs, except keep, in the subnet of ENI keep. It returns a
// function that restores the addresses.
func removeFromOtherENIs(p *store.Partition, keep *store.NetworkInterface, texts []string) (restore func()) {
	before := map[*store.NetworkInterface][]store.PrivateAddress{}
	for _, eni := range p.NetworkInterfaces {
		if eni != keep && eni.SubnetID == keep.SubnetID {
			before[eni] = eni.Private
			eni.Private = withoutMatching(eni.Private, func(a store.PrivateAddress) bool {
				return !a.Primary && slices.Contains(texts, a.Addr.String())
			})
		}
	}
	return func() {
		for eni, addresses := range before {
			eni.Private = addresses
		}
	}
}

// freePrefix returns a /28 block of the subnet in which every address is free.
func freePrefix(p *store.Partition, sub *store.Subnet) (netip.Prefix, *store.Error) {
	for n := 16; n+16 <= 1<<(32-sub.CIDR.Bits()); n += 16 {
		block := netip.PrefixFrom(store.IPv4At(sub.CIDR, n), 28)
		free := true
		for a := block.Addr(); free && block.Contains(a); a = a.Next() {
			free = p.CheckFreeIPv4(sub, a) == nil
		}
		if free {
			return block, nil
		}
	}
	return netip.Prefix{}, store.Errorf(store.UnprovenSource, "InsufficientCidrBlocks", "The specified subnet does not have enough free cidr blocks to satisfy the request.")
}

// UnassignPrivateIpAddresses removes secondary addresses and prefixes from an ENI. After an error nothing is removed.
func (s *instances) UnassignPrivateIpAddresses(c *store.Call, in *ec2.UnassignPrivateIpAddressesInput) (*ec2.UnassignPrivateIpAddressesOutput, error) {
	eni, err := findResource(kindENI, c.Partition.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	if eni.RequesterManaged {
		return nil, managedByServiceError(eni)
	}
	for _, text := range in.PrivateIpAddresses {
		i := slices.IndexFunc(eni.Private, func(a store.PrivateAddress) bool { return a.Addr.String() == text })
		if i < 0 || eni.Private[i].Primary {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Some of the specified addresses are not assigned to interface %s", eni.ID)
		}
	}
	for _, text := range in.Ipv4Prefixes {
		if !slices.ContainsFunc(eni.IPv4Prefixes, func(b netip.Prefix) bool { return b.String() == text }) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidParameterValue", "Some of the specified prefixes are not assigned to interface %s", eni.ID)
		}
	}
	eni.Private = withoutMatching(eni.Private, func(a store.PrivateAddress) bool { return slices.Contains(in.PrivateIpAddresses, a.Addr.String()) })
	eni.IPv4Prefixes = withoutMatching(eni.IPv4Prefixes, func(b netip.Prefix) bool { return slices.Contains(in.Ipv4Prefixes, b.String()) })
	return &ec2.UnassignPrivateIpAddressesOutput{}, nil
}

// AssignIpv6Addresses adds IPv6 addresses to an ENI. After an error the ENI is unchanged.
func (s *instances) AssignIpv6Addresses(c *store.Call, in *ec2.AssignIpv6AddressesInput) (*ec2.AssignIpv6AddressesOutput, error) {
	p := c.Partition
	eni, err := findResource(kindENI, p.NetworkInterfaces, in.NetworkInterfaceId)
	if err != nil {
		return nil, err
	}
	before := slices.Clone(eni.IPv6)
	if err := addIPv6Addresses(p, p.Subnets[eni.SubnetID], eni, in.Ipv6Addresses, int(aws.ToInt32(in.Ipv6AddressCount))); err != nil {
		eni.IPv6 = before
		return nil, err
	}
	out := &ec2.AssignIpv6AddressesOutput{NetworkInterfaceId: aws.String(eni.ID)}
	for _, a := range eni.IPv6[len(before):] {
		out.AssignedIpv6Addresses = append(out.AssignedIpv6Addresses, a.String())
	}
	return out, nil
}
