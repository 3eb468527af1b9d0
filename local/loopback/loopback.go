// Package loopback maps addresses of a VPC to addresses of this machine. It uses the mapping of the data plane, so
// that pods and load balancers use the same addresses.
package loopback

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"strconv"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
)

// lowPortOffset is added to ports of pods below 1024 if this user may not open such ports. Neither pods nor node ports nor
// outgoing connections commonly use the resulting ports.
const lowPortOffset = 28000

// Addr returns the loopback address, 127.x.y.z, for an address of a VPC, 10.x.y.z. Other addresses are returned
// unchanged.
func Addr(a netip.Addr) netip.Addr { return dataplane.Loopback(a) }

// Prefix returns the loopback range for a range of a VPC.
func Prefix(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(Addr(p.Addr()), p.Bits()) }

// Port returns the port on this machine for a port of a pod. It differs, by lowPortOffset, only for ports below 1024 that
// this user may not open.
func Port(port int) int {
	if port >= 1024 || canOpenLowPorts() {
		return port
	}
	return port + lowPortOffset
}

// canOpenLowPorts reports whether this user may open ports below 1024. It tries to open a port on an address that
// no local world uses.
func canOpenLowPorts() bool {
	l, err := net.Listen("tcp4", "127.15.255.254:999")
	if err == nil {
		l.Close()
	}
	// If the address is in use, another process is running the same check.
	return !errors.Is(err, fs.ErrPermission)
}

// HostPort returns the mapped address and port as host:port, for package net.
func HostPort(a netip.Addr, port int) string {
	return net.JoinHostPort(Addr(a).String(), strconv.Itoa(Port(port)))
}

// TargetAddrPort maps the address and port of a pod.
func TargetAddrPort(at netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(Addr(at.Addr()), uint16(Port(int(at.Port()))))
}
