package dataplane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
)

// networkListener is one listener of a Network Load Balancer at one node address. It has a TCP socket, a UDP socket, or both
// on the same port. New connections and flows use the current route. Existing connections and flows keep their target.
type networkListener struct {
	plane *Plane
	route atomic.Pointer[route]

	mu  sync.Mutex
	tcp *tcpSocket
	udp *udpSocket
}

// compileNetworkListener converts a listener of a Network Load Balancer. It returns nil if the configuration of the listener
// is invalid.
func compileNetworkListener(l Listener, _ lbAttributes) (*listenerView, []error) {
	of := "listener " + l.ARN
	attr, errs := parseListenerAttributes(of, l.Attributes)
	lv := &listenerView{arn: l.ARN, port: l.Port, protocol: l.Protocol, attr: attr}
	if !l.Protocol.isNetworkProtocol() {
		return nil, append(errs, fmt.Errorf("%s: protocol %q is not supported by Network Load Balancers", of, l.Protocol))
	}
	forward, ok := l.DefaultRule.Action.(Forward)
	if !ok {
		return nil, append(errs, fmt.Errorf("%s: rule action %T is not supported", of, l.DefaultRule.Action))
	}
	lv.forward = forward
	if l.Protocol == TLS {
		if err := lv.setTLS(l); err != nil {
			return nil, append(errs, fmt.Errorf("%s: %w", of, err))
		}
	}
	return lv, errs
}

// applyNetworkListener sets the route of the listener at a node address, and opens and closes its sockets as its protocol
// requires.
func (p *Plane) applyNetworkListener(at netip.AddrPort, r *route) error {
	s := p.networkListeners[at]
	if s == nil {
		s = &networkListener{plane: p}
		p.networkListeners[at] = s
	}
	s.route.Store(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil && !r.listener.protocol.hasConnections() {
		s.tcp.close()
		s.tcp = nil
	}
	if s.udp != nil && !r.listener.protocol.hasDatagrams() {
		s.udp.close()
		s.udp = nil
	}
	real := p.bindAddress(at)
	if s.tcp == nil && r.listener.protocol.hasConnections() {
		ln, err := listenTCP(withPortOfOpenSocket(real, s.udp != nil, s.udp.localAddress), p.opt.PortOffset, net.Listen)
		if err != nil {
			return err
		}
		s.tcp = &tcpSocket{listener: s, ln: ln, lifetime: newLifetime()}
		p.goroutines.Go(s.tcp.accept)
	}
	if s.udp == nil && r.listener.protocol.hasDatagrams() {
		conn, err := listenUDP(withPortOfOpenSocket(real, s.tcp != nil, s.tcp.localAddress), p.opt.PortOffset)
		if err != nil {
			return err
		}
		s.udp = &udpSocket{listener: s, conn: conn, lifetime: newLifetime(), flows: map[udpKey]*udpFlow{}}
		p.goroutines.Go(s.udp.forwardDatagrams)
	}
	return nil
}

// bindAddress returns the local address for a listener: Options.BindAddress for IPv4, and a free port of ::1 for IPv6,
// because Linux has only one IPv6 loopback address.
func (p *Plane) bindAddress(at netip.AddrPort) netip.AddrPort {
	if at.Addr().Is6() {
		return netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	}
	return p.opt.BindAddress(at)
}

// withPortOfOpenSocket returns the address for the second socket of a listener. If want has port 0 and the other socket
// is open, the result has the port of the open socket, whose address other returns.
func withPortOfOpenSocket(want netip.AddrPort, open bool, other func() netip.AddrPort) netip.AddrPort {
	if want.Port() == 0 && open {
		return netip.AddrPortFrom(want.Addr(), other().Port())
	}
	return want
}

// listenUDP opens a UDP socket. It replaces privileged ports as listenTCP does.
func listenUDP(at netip.AddrPort, offset uint16) (*net.UDPConn, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if errors.Is(err, syscall.EACCES) && at.Port() != 0 && at.Port() < 1024 {
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), at.Port()+offset)))
	}
	return conn, err
}

// endpoints returns the open sockets of the listener at node address "at".
func (s *networkListener) endpoints(at netip.AddrPort) []Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.route.Load()
	var all []Endpoint
	if s.tcp != nil {
		all = append(all, r.endpoint(at, s.tcp.localAddress()))
	}
	if s.udp != nil {
		e := r.endpoint(at, s.udp.localAddress())
		e.UDP = true
		all = append(all, e)
	}
	return all
}

// close closes the sockets of the listener and ends its connections and flows.
func (s *networkListener) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil {
		s.tcp.close()
	}
	if s.udp != nil {
		s.udp.close()
	}
}
