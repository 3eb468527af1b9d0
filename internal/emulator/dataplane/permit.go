package dataplane

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
)

// Packet is the first packet of a connection or flow in the emulated network. Options.IsPermitted determines whether it is
// allowed.
type Packet struct {
	Source netip.Addr
	// ForwardingNode is the node that forwards the packet with the client's address as its source. It is invalid for packets
	// that the client or the node sends with its own address.
	ForwardingNode netip.Addr
	Destination    netip.AddrPort
	UDP            bool
}

// admits reports whether the client may reach the listener.
func (r *route) admits(p *Plane, client netip.Addr, udp bool) bool {
	return p.opt.IsPermitted(Packet{Source: client, Destination: r.address, UDP: udp})
}

// discardUntilClosed reads from a connection that is not permitted, without an answer, until the client closes it. The
// connection exists, because only the kernel could drop its first packet.
func (p *Plane) discardUntilClosed(conn net.Conn) {
	stop := context.AfterFunc(p.lifetime, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// packetSource contains the source addresses of packets to a target.
type packetSource struct {
	node netip.Addr
	// client is the client's address in the emulated network, and localClient its address on this machine. Both are invalid
	// if the target sees the node's address.
	client, localClient netip.Addr
}

func (o packetSource) packet(to netip.AddrPort, udp bool) Packet {
	if o.client.IsValid() {
		return Packet{Source: o.client, ForwardingNode: o.node, Destination: to, UDP: udp}
	}
	return Packet{Source: o.node, Destination: to, UDP: udp}
}

// isHairpin reports whether the client is the target and its address is preserved: the target would drop packets from
// its own address. The common loopback addresses belong to clients outside the VPC.
func (o packetSource) isHairpin(to netip.AddrPort) bool {
	common := o.localClient == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || o.localClient == netip.IPv6Loopback()
	return o.localClient.IsValid() && !common && o.localClient == Loopback(to.Addr())
}

// source returns the source address of a connection to a target at an address of this machine; it is invalid if the
// operating system chooses the address.
func (o packetSource) source(target netip.Addr) netip.Addr {
	for _, a := range []netip.Addr{o.localClient, Loopback(o.node)} {
		if a.IsLoopback() && a.Is4() == target.Unmap().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// dialTarget connects to a target from the address of a node. If this machine does not have the address of the node,
// the operating system chooses the source address. If packets are not permitted, a connection times out, and a
// datagram socket fails immediately.
func (p *Plane) dialTarget(ctx context.Context, network string, from packetSource, at netip.AddrPort) (net.Conn, error) {
	udp := network == "udp"
	if from.isHairpin(at) || !p.opt.IsPermitted(from.packet(at, udp)) {
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
