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

// forwardedClients stores the clients of the TCP connections and UDP flows that accelerators forward to load balancers of
// the same data plane. The accelerator chooses the source port, so it stores the client before it sends the first packet.
type forwardedClients struct {
	nextPort atomic.Uint32
	clients  sync.Map // maps the source address (netip.AddrPort) to a forwardedClient
}

// forwardedClient is the client of a connection or flow that an accelerator forwards.
type forwardedClient struct {
	peer   netip.AddrPort // on this machine
	client netip.AddrPort // in the emulated network
}

// Source ports of accelerators. The operating system does not assign these ports to other sockets.
const (
	firstForwardingPort    = 10000
	forwardingPortCount    = 22000
	maxForwardingPortTries = 200
)

// dial connects from address "from" of this machine to socket "to" of a load balancer, and stores o as the client of the
// connection. The caller calls the returned function when the connection has ended.
func (h *forwardedClients) dial(ctx context.Context, network string, from netip.Addr, to netip.AddrPort, o forwardedClient) (net.Conn, func(), error) {
	var err error
	for range maxForwardingPortTries {
		at := netip.AddrPortFrom(from, firstForwardingPort+uint16(h.nextPort.Add(1)%forwardingPortCount))
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

// withPeer returns o with peer "at" if o has no peer, and otherwise o unchanged.
func (o forwardedClient) withPeer(at netip.AddrPort) forwardedClient {
	if !o.peer.IsValid() {
		o.peer = at
	}
	return o
}

// clientOf returns the client of a connection from address peer on this machine. If an accelerator forwards the connection,
// it returns the client of the accelerator.
func (p *Plane) clientOf(peer netip.AddrPort) forwardedClient {
	peer = netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
	if o, ok := p.forwardedClients.clients.Load(peer); ok {
		return o.(forwardedClient)
	}
	return forwardedClient{peer, netip.AddrPortFrom(p.opt.ClientAddress(peer.Addr()), peer.Port())}
}
