package dataplane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
)

// handovers has the clients of the connections and flows of datagrams that accelerators forward to load balancers of
// the same data plane. The accelerator chooses the source port, so it can add the entry before it sends the first
// packet.
type handovers struct {
	next    atomic.Uint32
	clients sync.Map // from source address (netip.AddrPort) to handover
}

// handover has the client of a connection from an accelerator.
type handover struct {
	peer   netip.AddrPort // on this machine
	client netip.AddrPort // in the emulated network
}

// Source ports of accelerators. The operating system does not assign these ports to other sockets.
const (
	handoverFirst = 10000
	handoverPorts = 22000
	handoverTries = 200
)

// dial connects to a load balancer's socket from an address of this machine. The caller calls the returned function when
// the connection has ended.
func (h *handovers) dial(ctx context.Context, network string, from netip.Addr, to netip.AddrPort, o handover) (net.Conn, func(), error) {
	var err error
	for range handoverTries {
		at := netip.AddrPortFrom(from, handoverFirst+uint16(h.next.Add(1)%handoverPorts))
		if _, taken := h.clients.LoadOrStore(at, o.withPeer(at)); taken {
			continue
		}
		d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(at)}
		if network == "udp" {
			d.LocalAddr = net.UDPAddrFromAddrPort(at)
		}
		var conn net.Conn
		if conn, err = d.DialContext(ctx, network, to.String()); err == nil {
			return conn, func() { h.clients.Delete(at) }, nil
		}
		h.clients.Delete(at)
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return nil, nil, err
		}
	}
	return nil, nil, err
}

// withPeer returns the handover with a default for a missing peer.
func (o handover) withPeer(at netip.AddrPort) handover {
	if !o.peer.IsValid() {
		o.peer = at
	}
	return o
}

// clientOf returns the client of a connection from a peer on this machine.
func (p *Plane) clientOf(peer netip.AddrPort) handover {
	peer = netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
	if o, ok := p.handed.clients.Load(peer); ok {
		return o.(handover)
	}
	return handover{peer, netip.AddrPortFrom(p.opt.Client(peer.Addr()), peer.Port())}
}
