// Package loopback says where on this machine an address of a VPC is found. The
// mapping itself is the data plane's, so that both sides cannot disagree. It
// opens nothing.
package loopback

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// Addr maps an address of a VPC, 10.x.y.z, to the address on this machine
// that stands for it, 127.x.y.z. Other addresses are returned as they are.
func Addr(a netip.Addr) netip.Addr { return dataplane.Loopback(a) }

// HostPort is Addr with a port, in the form that dialing and listening take.
func HostPort(a netip.Addr, port int) string {
	return net.JoinHostPort(Addr(a).String(), strconv.Itoa(port))
}
