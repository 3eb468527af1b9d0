// Package loopback maps addresses of a VPC to loopback addresses of this machine. It uses the same mapping as the emulator's
// data plane, because load balancers connect to pods at these addresses.
package loopback

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// lowPortOffset is added to ports below 1024 if this user may not open such ports. Pods, node ports and outgoing connections
// rarely use the resulting ports.
const lowPortOffset = 28000

// Addr returns the loopback address, 127.x.y.z, for an address of a VPC, 10.x.y.z. Other addresses are returned
// unchanged.
func Addr(a netip.Addr) netip.Addr { return dataplane.Loopback(a) }

// Prefix returns the loopback range for a range of a VPC.
func Prefix(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(Addr(p.Addr()), p.Bits()) }

// Port returns the port on this machine for a port in the VPC. It returns port unchanged, except for a port below 1024 that
// this user may not open: then it adds lowPortOffset.
func Port(port int) int {
	if port >= 1024 || canOpenLowPorts() {
		return port
	}
	return port + lowPortOffset
}

// canOpenLowPorts reports whether this user may open ports below 1024. It tries to open such a port on an address that no
// local world uses.
func canOpenLowPorts() bool {
	l, err := net.Listen("tcp4", "127.15.255.254:999")
	if err == nil {
		l.Close()
	}
	// Any other error means that the user may open low ports. For example, another process may be running the same check.
	return !errors.Is(err, fs.ErrPermission)
}

// HostPort returns the host:port on this machine for an address and port in the VPC, for package net.
func HostPort(a netip.Addr, port int) string {
	return net.JoinHostPort(Addr(a).String(), strconv.Itoa(Port(port)))
}

// TargetAddrPort returns the address and port on this machine for an address and port in the VPC.
func TargetAddrPort(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(Addr(at.Addr()), uint16(Port(int(at.Port()))))
}
