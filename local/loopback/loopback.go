// Package loopback says where on this machine an address of a VPC is found.
// It opens nothing itself.
package loopback

import (
	"net"
	"net/netip"
	"strconv"
)

// Addr maps an address of a VPC, 10.x.y.z, to the address on this machine
// that stands for it, 127.x.y.z. Other addresses are returned as they are.
func Addr(a netip.Addr) netip.Addr {
	if !a.Is4() {
		return a
	}
	b := a.As4()
	if b[0] != 10 {
		return a
	}
	b[0] = 127
	return netip.AddrFrom4(b)
}

// HostPort is Addr with a port, in the form that dialing and listening take.
func HostPort(a netip.Addr, port int) string {
	return net.JoinHostPort(Addr(a).String(), strconv.Itoa(port))
}
