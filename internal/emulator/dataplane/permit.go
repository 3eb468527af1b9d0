package dataplane

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
)

// Packet is what Options.Permit decides about: the first packet of a
// connection or flow in the emulated network.
type Packet struct {
	From netip.Addr
	// Via is the node that forwards the packet with the client's address as its source.
	// It is invalid for packets whose source is their sender.
	Via netip.Addr
	To  netip.AddrPort
	UDP bool
}

// admits reports whether the client may reach the listener.
func (r *route) admits(p *Plane, client netip.Addr, udp bool) bool {
	return p.opt.Permit(Packet{From: client, To: r.at, UDP: udp})
}

// swallow sends no answer to a client for as long as it waits. Only the kernel could
// prevent the connection itself.
func (p *Plane) swallow(conn net.Conn) {
	stop := context.AfterFunc(p.life, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// origin is where packets to a target come from.
type origin struct {
	node netip.Addr
	// client is the client's address in the emulated network and local the
	// one on this machine. Both are invalid where targets see the node.
	client, local netip.Addr
}

func (o origin) packet(to netip.AddrPort, udp bool) Packet {
	if o.client.IsValid() {
		return Packet{From: o.client, Via: o.node, To: to, UDP: udp}
	}
	return Packet{From: o.node, To: to, UDP: udp}
}

// hairpin reports whether the target itself is the client whose address is preserved:
// it would get packets from its own address, and drops them. The common loopback
// addresses are the addresses of outside clients, not of a target.
func (o origin) hairpin(to netip.AddrPort) bool {
	common := o.local == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || o.local == netip.IPv6Loopback()
	return o.local.IsValid() && !common && o.local == Loopback(to.Addr())
}

// source returns the address of this machine that a target reached there sees;
// invalid where the system chooses.
func (o origin) source(there netip.Addr) netip.Addr {
	for _, a := range []netip.Addr{o.local, Loopback(o.node)} {
		if a.IsLoopback() && a.Is4() == there.Unmap().Is4() {
			return a
		}
	}
	return netip.Addr{}
}

// dialTarget connects to a target from the address of a node, as targets see it. If the
// address of a node is not one of this machine's, the system chooses the address. If
// packets are not permitted, connecting times out; for datagrams, which are not waited
// for, it fails at once.
func (p *Plane) dialTarget(ctx context.Context, network string, from origin, at netip.AddrPort) (net.Conn, error) {
	udp := network == "udp"
	if from.hairpin(at) || !p.opt.Permit(from.packet(at, udp)) {
		if !udp {
			ctx, cancel := context.WithTimeout(ctx, p.opt.ConnectTimeout)
			defer cancel()
			<-ctx.Done()
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	d := net.Dialer{Timeout: p.opt.ConnectTimeout}
	there := p.reach(at, udp)
	if local := from.source(there.Addr()); local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		if udp {
			d.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
		}
	}
	return d.DialContext(ctx, network, there.String())
}
