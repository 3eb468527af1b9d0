package network

import (
	"net/netip"
	"slices"
	"strings"
)

// ENI is a network interface with its addresses and security groups. Addresses and Prefixes are of either address
// family.
type ENI struct {
	ID             string
	DeviceIndex    int32
	Addresses      []string // ascending
	Prefixes       []string
	SecurityGroups []ENISecurityGroup
}

// HasAddress reports whether an address is one of the ENI or within one of its prefixes.
func (i ENI) HasAddress(ip string) bool {
	_, ok := slices.BinarySearch(i.Addresses, ip)
	return ok || containsIPv6(i.Addresses, ip) || IsInRanges(ip, i.Prefixes)
}

// containsIPv6 compares IPv6 addresses by value, because the same address can be written in several ways.
func containsIPv6(addresses []string, ip string) bool {
	if !strings.Contains(ip, ":") {
		return false
	}
	want, err := netip.ParseAddr(ip)
	return err == nil && slices.ContainsFunc(addresses, func(a string) bool {
		is, err := netip.ParseAddr(a)
		return err == nil && is == want
	})
}

// ENIOf returns the ENI that carries an address; false if none does.
func ENIOf(ip string, enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.HasAddress(ip) {
			return i, true
		}
	}
	return ENI{}, false
}

// PrimaryENI returns the ENI with device index 0, whose security groups apply to the traffic of a node; false if it is
// missing.
func PrimaryENI(enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.DeviceIndex == 0 {
			return i, true
		}
	}
	return ENI{}, false
}
