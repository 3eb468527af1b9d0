package dataplane

import "net/netip"

// Loopback maps an address of the emulated network to the address of this machine in
// its place: 10.x.y.z is 127.x.y.z. Every other address is returned as it is.
func Loopback(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() && addr.As4()[0] == 10 {
		b := addr.As4()
		b[0] = 127
		return netip.AddrFrom4(b)
	}
	return addr
}
