package dataplane

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
)

// Packet is the first packet of a connection or flow in the emulated network. Options.IsPermitted decides whether the
// packet passes.
type Packet struct {
	Source netip.Addr
	// ForwardingNode is the load balancer node that sends the packet with the client's address as its source. It is invalid
	// if the client or the node sends the packet with its own address.
	ForwardingNode netip.Addr
	Destination    netip.AddrPort
	UDP            bool
}

// admits reports whether a client may send packets to the listener.
func (r *route) admits(p *Plane, client netip.Addr, udp bool) bool {
	return p.opt.IsPermitted(Packet{Source: client, Destination: r.address, UDP: udp})
}

// discardUntilClosed reads from a connection of a client that is not permitted, without a response, until the client closes
// the connection. AWS would drop the first packet, but here the kernel has already accepted the connection.
func (p *Plane) discardUntilClosed(conn net.Conn) {
	stop := context.AfterFunc(p.lifetime, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// packetSource contains the source addresses of packets to a target.
type packetSource struct {
	node netip.Addr
	// client is the client's address in the emulated network, and localClient is its address on this machine. Both are
	// invalid if the target sees the address of the node.
	client, localClient netip.Addr
}

func (o packetSource) packet(to netip.AddrPort, udp bool) Packet {
	if o.client.IsValid() {
		return Packet{Source: o.client, ForwardingNode: o.node, Destination: to, UDP: udp}
	}
	return Packet{Source: o.node, Destination: to, UDP: udp}
}

// isHairpin reports whether the target "to" is the client itself, with client IP preservation. Such packets are lost,
// because a target drops packets from its own address. 127.0.0.1 and ::1 are addresses of clients outside the VPC.
func (o packetSource) isHairpin(to netip.AddrPort) bool {
	common := o.localClient == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || o.localClient == netip.IPv6Loopback()
	return o.localClient.IsValid() && !common && o.localClient == Loopback(to.Addr())
}

// source returns the local source address for a connection to address target of this machine. It is invalid if the operating
// system chooses the address.
func (o packetSource) source(target netip.Addr) netip.Addr {
	for _, a := range []netip.Addr{o.localClient, Loopback(o.node)} {
		if a.IsLoopback() && a.Is4() == target.Unmap().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// dialTarget connects to the target with address "at" in the emulated network. The source is the client or the node in
// "from"; if this machine does not have the address, the operating system chooses one. If packets are not permitted, a TCP
// connection fails after Options.ConnectTimeout, and a UDP socket fails immediately.
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
