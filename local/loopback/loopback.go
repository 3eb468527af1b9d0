// Package loopback maps addresses of a VPC to addresses of this machine. The mapping
// itself is the data plane's, so that both sides cannot disagree.
package loopback

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// offset is added to ports below 1024 of pods where this user may not open
// those. It leads to ports that neither pods nor node ports nor outgoing
// connections commonly use.
const offset = 28000

// Addr maps an address of a VPC, 10.x.y.z, to the address on this machine in its place,
// 127.x.y.z. Other addresses are returned as they are.
func Addr(a netip.Addr) netip.Addr { return dataplane.Loopback(a) }

// Prefix is Addr for a range.
func Prefix(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(Addr(p.Addr()), p.Bits()) }

// Port is where a port of a pod really is: there, or at 28000 and more for a
// port below 1024 that this user may not open.
func Port(port int) int {
	if port >= 1024 || mayOpenLowPorts() {
		return port
	}
	return port + offset
}

// mayOpenLowPorts tries one, at an address that belongs to no world.
func mayOpenLowPorts() bool {
	l, err := net.Listen("tcp4", "127.15.255.254:999")
	if err == nil {
		l.Close()
	}
	// If the address is in use, another process is trying the same.
	return !errors.Is(err, fs.ErrPermission)
}

// HostPort is Addr and Port, in the form that dialing and listening take.
func HostPort(a netip.Addr, port int) string {
	return net.JoinHostPort(Addr(a).String(), strconv.Itoa(Port(port)))
}

// Target is the same for addresses with ports.
func Target(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(Addr(at.Addr()), uint16(Port(int(at.Port()))))
}
