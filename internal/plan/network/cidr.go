package network

import "net/netip"

// CanonicalCIDR returns an address range in the form in which EC2 returns it: host bits cleared, IPv6 compressed.
func CanonicalCIDR(s string) (string, error) {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return "", err
	}
	return p.Masked().String(), nil
}

// IsInRanges reports whether an address is in one of the CIDR ranges; a range that cannot be parsed contains no address.
func IsInRanges(ip string, cidrs []string) bool {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return false
	}
	for _, c := range cidrs {
		if p, err := netip.ParsePrefix(c); err == nil && p.Contains(addr) {
			return true
		}
	}
	return false
}
