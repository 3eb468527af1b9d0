package dataplane

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
)

// Packet is the first packet of a connection or flow in the emulated network. Options.Permit determines whether it
// is allowed.
type Packet struct {
	From netip.Addr
	// Via is the node that forwards the packet with the client's address as its source. It is invalid for packets
	// that the client or the node sends with its own address.
	Via netip.Addr
	To  netip.AddrPort
	UDP bool
}

// admits reports whether the client may reach the listener.
func (r *route) admits(p *Plane, client netip.Addr, udp bool) bool {
	return p.opt.Permit(Packet{From: client, To: r.at, UDP: udp})
}

// ignore reads from a connection that is not permitted, without an answer, until the client
// closes it. Only the kernel could prevent the connection itself.
func (p *Plane) ignore(conn net.Conn) {
	stop := context.AfterFunc(p.life, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// origin has the source addresses of packets to a target.
type origin struct {
	node netip.Addr
	// client is the client's address in the emulated network, and local its address on
	// this machine. Both are invalid if the target sees the node's address.
	client, local netip.Addr
}

func (o origin) packet(to netip.AddrPort, udp bool) Packet {
	if o.client.IsValid() {
		return Packet{From: o.client, Via: o.node, To: to, UDP: udp}
	}
	return Packet{From: o.node, To: to, UDP: udp}
}

// isHairpin reports whether the client is the target and its address is preserved: the target would drop packets from
// its own address. The common loopback addresses belong to clients outside the VPC.
func (o origin) isHairpin(to netip.AddrPort) bool {
	common := o.local == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || o.local == netip.IPv6Loopback()
	return o.local.IsValid() && !common && o.local == Loopback(to.Addr())
}

// source returns the source address of a connection to a target at an address of this machine; it is invalid if the
// operating system chooses the address.
func (o origin) source(target netip.Addr) netip.Addr {
	for _, a := range []netip.Addr{o.local, Loopback(o.node)} {
		if a.IsLoopback() && a.Is4() == target.Unmap().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// dialTarget connects to a target from the address of a node. If this machine does not have the address of the node,
// the operating system chooses the source address. If packets are not permitted, a connection times out, and a
// datagram socket fails immediately.
func (p *Plane) dialTarget(ctx context.Context, network string, from origin, at netip.AddrPort) (net.Conn, error) {
	udp := network == "udp"
	if from.isHairpin(at) || !p.opt.Permit(from.packet(at, udp)) {
		if !udp {
			ctx, cancel := context.WithTimeout(ctx, p.opt.ConnectTimeout)
			defer cancel()
			<-ctx.Done()
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	d := net.Dialer{Timeout: p.opt.ConnectTimeout}
	real := p.realAddress(at, udp)
	if local := from.source(real.Addr()); local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		if udp {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		}
	}
	return d.DialContext(ctx, network, real.String())
}
