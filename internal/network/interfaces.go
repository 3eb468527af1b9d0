package network

import (
	"net/netip"
	"slices"
	"strings"
)

// Interface is a network interface with what it carries. Addresses and Prefixes may be of either
// family.
type Interface struct {
	ID          string
	DeviceIndex int32
	Addresses   []string
	Prefixes    []string
	Groups      []InterfaceGroup
}

// Carries says whether an address is one of the interface's own or within its prefixes.
func (i Interface) Carries(ip string) bool {
	return slices.ContainsFunc(i.Addresses, func(a string) bool { return sameAddress(a, ip) }) || InRanges(ip, i.Prefixes)
}

// sameAddress compares addresses by value, as IPv6 has many ways to write one.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.Contains(a, ":") || !strings.Contains(b, ":") {
		return false // IPv4 has one way
	}
	x, err := netip.ParseAddr(a)
	if err != nil {
		return false
	}
	y, err := netip.ParseAddr(b)
	return err == nil && x == y
}

// InterfaceOf finds the interface that carries an address.
func InterfaceOf(ip string, interfaces []Interface) (Interface, bool) {
	for _, i := range interfaces {
		if i.Carries(ip) {
			return i, true
		}
	}
	return Interface{}, false
}

// Primary finds the interface with device index 0, whose groups a node's traffic meets.
func Primary(interfaces []Interface) (Interface, bool) {
	for _, i := range interfaces {
		if i.DeviceIndex == 0 {
			return i, true
		}
	}
	return Interface{}, false
}
