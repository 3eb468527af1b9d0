package network

import (
	"net/netip"
	"slices"
	"strings"
)

// ENI is an ENI with its addresses and security groups. Addresses and Prefixes may be of
// either family.
type ENI struct {
	ID          string
	DeviceIndex int32
	Addresses   []string // ascending
	Prefixes    []string
	Groups      []ENIGroup
}

// Carries reports whether an address is one of the ENI's own or within its prefixes.
func (i ENI) Carries(ip string) bool {
	_, ok := slices.BinarySearch(i.Addresses, ip)
	return ok || carriesIPv6(i.Addresses, ip) || InRanges(ip, i.Prefixes)
}

// carriesIPv6 compares addresses by value, as IPv6 has many ways to write one. IPv4 has one way.
func carriesIPv6(addresses []string, ip string) bool {
	if !strings.Contains(ip, ":") {
		return false
	}
	want, err := netip.ParseAddr(ip)
	return err == nil && slices.ContainsFunc(addresses, func(a string) bool {
		is, err := netip.ParseAddr(a)
		return err == nil && is == want
	})
}

// ENIOf finds the ENI that carries an address.
func ENIOf(ip string, enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.Carries(ip) {
			return i, true
		}
	}
	return ENI{}, false
}

// Primary finds the ENI with device index 0, whose security groups apply to a node's traffic.
func Primary(enis []ENI) (ENI, bool) {
	for _, i := range enis {
		if i.DeviceIndex == 0 {
			return i, true
		}
	}
	return ENI{}, false
}
