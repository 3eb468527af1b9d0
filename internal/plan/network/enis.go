package network

import (
	"net/netip"
	"slices"
	"strings"
)

// ENI is a network interface with its addresses and security groups. Addresses and Prefixes can have IPv4 and IPv6 entries.
type ENI struct {
	ID             string
	DeviceIndex    int32
	Addresses      []string // ascending
	Prefixes       []string
	SecurityGroups []ENISecurityGroup
}

// HasAddress reports whether the ENI has the address, or has a prefix that contains it.
func (i ENI) HasAddress(ip string) bool {
	_, ok := slices.BinarySearch(i.Addresses, ip)
	return ok || containsIPv6(i.Addresses, ip) || IsInRanges(ip, i.Prefixes)
}

// containsIPv6 reports whether a list contains an IPv6 address. It compares by value, because an IPv6 address can be written
// in several ways.
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

// ENIWithAddress returns the ENI that has an address; false if no ENI has the address.
func ENIWithAddress(ip string, enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.HasAddress(ip) {
			return i, true
		}
	}
	return ENI{}, false
}

// PrimaryENI returns the ENI with device index 0, whose security groups apply to the traffic of a node; false if the list
// has no such ENI.
func PrimaryENI(enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.DeviceIndex == 0 {
			return i, true
		}
	}
	return ENI{}, false
}
