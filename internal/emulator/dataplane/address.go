package dataplane

import "net/netip"

// Loopback returns the loopback address that replaces an address of the emulated network on this machine: 10.x.y.z becomes
// 127.x.y.z. Other addresses are returned unchanged.
func Loopback(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() && addr.As4()[0] == 10 {
		b := addr.As4()
		b[0] = 127
		return netip.AddrFrom4(b)
	}
	return addr
}
