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

// stream is one listener of a Network Load Balancer on one node. It has a socket for connections, one for datagrams,
// or both on the same port. New connections and flows use the current route; existing connections and flows keep
// their target.
type stream struct {
	plane *Plane
	route atomic.Pointer[route]

	mu  sync.Mutex
	tcp *tcpSocket
	udp *udpSocket
}

// compileStream prepares a listener of a Network Load Balancer. It returns nil
// if the listener cannot be served.
func compileStream(l Listener, _ lbAttributes) (*listenerView, []error) {
	of := "listener " + l.ARN
	attr, errs := parseListenerAttributes(of, l.Attributes)
	lv := &listenerView{arn: l.ARN, port: l.Port, protocol: l.Protocol, attr: attr}
	if !l.Protocol.network() {
		return nil, append(errs, fmt.Errorf("%s: protocol %q is not supported by Network Load Balancers", of, l.Protocol))
	}
	forward, ok := l.Default.Then.(Forward)
	if !ok {
		return nil, append(errs, fmt.Errorf("%s: rule action %T is not supported", of, l.Default.Then))
	}
	lv.forward = forward
	if l.Protocol == TLS {
		if err := lv.setTLS(l); err != nil {
			return nil, append(errs, fmt.Errorf("%s: %w", of, err))
		}
	}
	return lv, errs
}

// applyStream sets the route of a listener, and opens and closes sockets according to its
// protocol.
func (p *Plane) applyStream(at netip.AddrPort, r *route) error {
	s := p.streams[at]
	if s == nil {
		s = &stream{plane: p}
		p.streams[at] = s
	}
	s.route.Store(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil && !r.listener.protocol.stream() {
		s.tcp.close()
		s.tcp = nil
	}
	if s.udp != nil && !r.listener.protocol.datagrams() {
		s.udp.close()
		s.udp = nil
	}
	real := p.bind(at)
	if s.tcp == nil && r.listener.protocol.stream() {
		ln, err := listen(samePort(real, s.udp != nil, s.udp.real), p.opt.PortOffset, net.Listen)
		if err != nil {
			return err
		}
		s.tcp = &tcpSocket{stream: s, ln: ln, life: newLifetime()}
		p.work.Go(s.tcp.accept)
	}
	if s.udp == nil && r.listener.protocol.datagrams() {
		conn, err := listenUDP(samePort(real, s.tcp != nil, s.tcp.real), p.opt.PortOffset)
		if err != nil {
			return err
		}
		s.udp = &udpSocket{stream: s, conn: conn, life: newLifetime(), flows: map[udpKey]*udpFlow{}}
		p.work.Go(s.udp.read)
	}
	return nil
}

// bind returns the local address of a listener: Options.Bind for IPv4, and a free port of ::1 for IPv6, because
// Linux has only one IPv6 loopback address.
func (p *Plane) bind(at netip.AddrPort) netip.AddrPort {
	if at.Addr().Is6() {
		return netip.AddrPortFrom(netip.IPv6Loopback(), 0)
	}
	return p.opt.Bind(at)
}

// samePort returns the address for a second socket of a listener: if a free port was requested, it has the port of
// the first socket.
func samePort(want netip.AddrPort, open bool, other func() netip.AddrPort) netip.AddrPort {
	if want.Port() == 0 && open {
		return netip.AddrPortFrom(want.Addr(), other().Port())
	}
	return want
}

// listenUDP binds an address for datagrams, as listen does for connections.
func listenUDP(at netip.AddrPort, offset uint16) (*net.UDPConn, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if errors.Is(err, syscall.EACCES) && at.Port() != 0 && at.Port() < 1024 {
		return net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), at.Port()+offset)))
	}
	return conn, err
}

// endpoints lists the open sockets.
func (s *stream) endpoints(at netip.AddrPort) []Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.route.Load()
	var all []Endpoint
	if s.tcp != nil {
		all = append(all, r.endpoint(at, s.tcp.real()))
	}
	if s.udp != nil {
		e := r.endpoint(at, s.udp.real())
		e.UDP = true
		all = append(all, e)
	}
	return all
}

// close ends the listener with its connections and flows.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tcp != nil {
		s.tcp.close()
	}
	if s.udp != nil {
		s.udp.close()
	}
}
