package store

import (
	"net/netip"
	"slices"
)

// reservedAddresses is the number of addresses that AWS reserves at the beginning of a subnet: the network address, the
// router, the DNS server, and one for future use. AWS also reserves the last address.
const reservedAddresses = 4

// usedAddresses returns the IPv4 and IPv6 addresses of a subnet that ENIs have. It includes the addresses of IPv4 prefixes,
// but not those of IPv6 prefixes, which are too many.
func (p *Partition) usedAddresses(subnetID string) map[netip.Addr]bool {
	taken := map[netip.Addr]bool{}
	for _, eni := range p.NetworkInterfaces {
		if eni.SubnetID != subnetID {
			continue
		}
		for _, a := range eni.Private {
			taken[a.Addr] = true
		}
		for _, a := range eni.IPv6 {
			taken[a] = true
		}
		for _, block := range eni.IPv4Prefixes {
			for a := block.Addr(); block.Contains(a); a = a.Next() {
				taken[a] = true
			}
		}
	}
	return taken
}

// isIPv4InUse reports whether an ENI in a subnet has an IPv4 address, or a prefix with this address.
func (p *Partition) isIPv4InUse(subnetID string, a netip.Addr) bool {
	for _, eni := range p.NetworkInterfaces {
		if eni.SubnetID == subnetID && (slices.ContainsFunc(eni.Private, func(own PrivateAddress) bool { return own.Addr == a }) ||
			slices.ContainsFunc(eni.IPv4Prefixes, func(block netip.Prefix) bool { return block.Contains(a) })) {
			return true
		}
	}
	return false
}

// ipv6Prefixes returns the IPv6 prefixes that ENIs in a subnet have.
func ipv6Prefixes(p *Partition, subnetID string) []netip.Prefix {
	var out []netip.Prefix
	for _, eni := range p.NetworkInterfaces {
		if eni.SubnetID == subnetID {
			out = append(out, eni.IPv6Prefixes...)
		}
	}
	return out
}

// CountFreeIPv4 returns the number of free IPv4 addresses in a subnet.
func (p *Partition) CountFreeIPv4(s *Subnet) int {
	if s.IsIPv6Native() {
		return 0
	}
	n := 1<<(32-s.CIDR.Bits()) - reservedAddresses - 1
	for a := range p.usedAddresses(s.ID) {
		if a.Is4() {
			n--
		}
	}
	return n
}

// isUsableIPv4 reports whether an address is in a subnet and is not reserved by AWS.
func isUsableIPv4(s *Subnet, a netip.Addr) bool {
	if !s.CIDR.IsValid() || !s.CIDR.Contains(a) {
		return false
	}
	offset := offsetOf(s.CIDR, a)
	return offset >= reservedAddresses && offset < 1<<(32-s.CIDR.Bits())-1
}

func offsetOf(block netip.Prefix, a netip.Addr) int {
	base, at := block.Addr().As4(), a.As4()
	return int(bigEndianUint32(at)) - int(bigEndianUint32(base))
}

func bigEndianUint32(b [4]byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// IPv4At returns the address with offset n in an IPv4 block.
func IPv4At(block netip.Prefix, n int) netip.Addr {
	v := bigEndianUint32(block.Addr().As4()) + uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

// FindFreeIPv4Addresses returns the n lowest free addresses of a subnet. It does not reserve the addresses. They are in use
// when an ENI has them.
func (p *Partition) FindFreeIPv4Addresses(s *Subnet, n int) ([]netip.Addr, *Error) {
	if s.IsIPv6Native() {
		return nil, Errorf(UnprovenSource, "InvalidParameterValue", "The subnet '%s' has no IPv4 CIDR block", s.ID)
	}
	taken := p.usedAddresses(s.ID)
	var out []netip.Addr
	last := 1<<(32-s.CIDR.Bits()) - 1
	for i := reservedAddresses; i < last && len(out) < n; i++ {
		if a := IPv4At(s.CIDR, i); !taken[a] {
			out = append(out, a)
		}
	}
	if len(out) < n {
		return nil, Errorf(UnprovenSource, "InsufficientFreeAddressesInSubnet", "The specified subnet does not have enough free addresses to satisfy the request.")
	}
	return out, nil
}

// CheckFreeIPv4 returns an error if an address is not in the subnet, is reserved by AWS, or is in use.
func (p *Partition) CheckFreeIPv4(s *Subnet, a netip.Addr) *Error {
	if !isUsableIPv4(s, a) {
		return Errorf(UnprovenSource, "InvalidParameterValue", "Address %s does not fall within the subnet's address range", a)
	}
	if p.isIPv4InUse(s.ID, a) {
		return Errorf(UnprovenSource, "InvalidIPAddress.InUse", "Address %s is in use.", a)
	}
	return nil
}

// ENIWithIPv6 returns the ID of the ENI with an IPv6 address in a subnet, or "" if there is none.
func (p *Partition) ENIWithIPv6(subnetID string, a netip.Addr) string {
	for _, id := range SortedKeys(p.NetworkInterfaces) {
		if eni := p.NetworkInterfaces[id]; eni.SubnetID == subnetID && slices.Contains(eni.IPv6, a) {
			return id
		}
	}
	return ""
}

// FindFreeIPv6Addresses returns the n lowest free IPv6 addresses of a subnet. It does not reserve the addresses.
func (p *Partition) FindFreeIPv6Addresses(s *Subnet, n int) ([]netip.Addr, *Error) {
	if len(s.IPv6) == 0 {
		return nil, Errorf(UnprovenSource, "InvalidParameterValue", "The subnet '%s' has no IPv6 CIDR block", s.ID)
	}
	taken, prefixes := p.usedAddresses(s.ID), ipv6Prefixes(p, s.ID)
	var out []netip.Addr
	a := s.IPv6[0].Block.Addr()
	for range reservedAddresses {
		a = a.Next()
	}
	for ; len(out) < n; a = a.Next() {
		if i := slices.IndexFunc(prefixes, func(block netip.Prefix) bool { return block.Contains(a) }); i >= 0 {
			a = lastIPv6(prefixes[i])
		} else if !taken[a] {
			out = append(out, a)
		}
	}
	return out, nil
}

// lastIPv6 returns the last address of an IPv6 block.
func lastIPv6(block netip.Prefix) netip.Addr {
	b := block.Masked().Addr().As16()
	for i := block.Bits(); i < 128; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom16(b)
}

// HasInternetGateway reports whether an internet gateway is attached to the VPC.
func (p *Partition) HasInternetGateway(vpcID string) bool {
	for _, igw := range p.InternetGateways {
		if igw.VPCID == vpcID {
			return true
		}
	}
	return false
}

// DefaultSecurityGroup returns the security group named "default" of a VPC, or nil if there is none.
func (p *Partition) DefaultSecurityGroup(vpcID string) *SecurityGroup {
	for _, g := range p.SecurityGroups {
		if g.VPCID == vpcID && g.Name == "default" {
			return g
		}
	}
	return nil
}

// DefaultVPC returns the default VPC, or nil if it was deleted.
func (p *Partition) DefaultVPC() *VPC {
	for _, v := range p.VPCs {
		if v.IsDefault {
			return v
		}
	}
	return nil
}

// MainRouteTable returns the main route table of a VPC, or nil if there is none. Subnets without an association use it.
func (p *Partition) MainRouteTable(vpcID string) *RouteTable {
	for _, t := range p.RouteTables {
		if t.VPCID != vpcID {
			continue
		}
		for _, a := range t.Associations {
			if a.Main {
				return t
			}
		}
	}
	return nil
}
