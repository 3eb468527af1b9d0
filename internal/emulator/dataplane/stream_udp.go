package dataplane

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// maxDatagram is the largest payload of UDP over IPv4.
const maxDatagram = 65507

// udpSocket receives the datagrams of a listener and has its flows.
type udpSocket struct {
	stream *stream
	conn   *net.UDPConn
	life   lifetime

	mu    sync.Mutex
	flows map[udpKey]*udpFlow
}

// udpKey identifies a flow by its client. It also has the QUIC server ID if the ID selects another target than the
// client's first datagram.
type udpKey struct {
	peer   netip.AddrPort
	server string
}

// udpFlow is the flow of a client's datagrams to one target.
type udpFlow struct {
	*flow
	conn net.Conn
	idle *time.Timer
	// prefix precedes each datagram: the proxy protocol's header, if any.
	prefix []byte
}

func (s *udpSocket) real() netip.AddrPort { return s.conn.LocalAddr().(*net.UDPAddr).AddrPort() }

// close ends the flows, and with them the socket.
func (s *udpSocket) close() {
	_ = s.conn.Close()
	s.life.end()
}

func (s *udpSocket) read() {
	readAll(s.conn, func(packet []byte, peer netip.AddrPort) {
		if f := s.flowOf(peer, packet); f != nil {
			f.send(packet)
		}
	})
}

// readAll receives datagrams until the socket is closed. take must not keep the packet.
func readAll(conn *net.UDPConn, take func(packet []byte, from netip.AddrPort)) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		take(buf[:n], from)
	}
}

// readAnswers receives the datagrams of a connected socket until it is closed. take must not keep the packet.
func readAnswers(conn net.Conn, take func(packet []byte)) {
	buf := make([]byte, maxDatagram)
	for {
		n, err := conn.Read(buf)
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue // no listener there; the client is not informed
		}
		if err != nil {
			return
		}
		take(buf[:n])
	}
}

// flowOf returns the flow of a datagram, and creates it if there is none. It returns nil if the datagram is dropped.
func (s *udpSocket) flowOf(peer netip.AddrPort, packet []byte) *udpFlow {
	server := ""
	if s.stream.route.Load().listener.protocol.quic() {
		server = quicServer(packet)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.flows[udpKey{peer: peer}]
	if first != nil && (server == "" || first.target.server == server) {
		return first
	}
	if server != "" {
		if known := s.flows[udpKey{peer, server}]; known != nil {
			return known
		}
		if f := s.open(udpKey{peer, server}); f != nil {
			return f
		}
		// The ID has no server ID: a client chooses its first connection ID at random.
		if first != nil {
			return first
		}
	}
	return s.open(udpKey{peer: peer})
}

// open starts a flow; the caller holds the lock.
func (s *udpSocket) open(key udpKey) *udpFlow {
	p := s.stream.plane
	f := &udpFlow{flow: s.stream.newFlow(key.peer, 0)}
	if !f.route.admits(p, f.client.Addr(), true) || !f.choose(key.server) {
		return nil
	}
	ctx, end := p.calls.begin(s.life, f.target)
	conn, err := p.dialTarget(ctx, "udp", f.origin(), f.at)
	if err != nil {
		end()
		return nil
	}
	f.conn = conn
	f.idle = time.AfterFunc(p.opt.UDPIdleTimeout, func() { _ = conn.Close() })
	if f.view.attr.proxyProtocol {
		f.prefix = proxyHeader(f.client, f.route.at, true)
	}
	s.flows[key] = f
	p.work.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		defer end()
		s.answer(key, f)
	})
	return f
}

// answer forwards the target's datagrams to the client until the flow ends.
func (s *udpSocket) answer(key udpKey, f *udpFlow) {
	readAnswers(f.conn, func(packet []byte) {
		s.answered(key, f)
		_, _ = s.conn.WriteToUDPAddrPort(packet, key.peer)
	})
	f.idle.Stop()
	_ = f.conn.Close()
	s.mu.Lock()
	if s.flows[key] == f {
		delete(s.flows, key)
	}
	s.mu.Unlock()
	f.log()
}

// answered resets the idle timer of a flow, unless forget has removed the flow.
func (s *udpSocket) answered(key udpKey, f *udpFlow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flows[key] == f {
		f.idle.Reset(s.stream.plane.opt.UDPIdleTimeout)
	}
}

// lastAnswers is the time for which a removed flow still forwards answers.
const lastAnswers = time.Second

// forget removes the flows to a target group. Late answers are still forwarded for the time lastAnswers.
func (s *udpSocket) forget(g *targetGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, f := range s.flows {
		if f.group == g {
			delete(s.flows, key)
			f.idle.Reset(lastAnswers)
		}
	}
}

// send forwards a client's datagram. A datagram that cannot be sent is dropped, as UDP allows.
func (f *udpFlow) send(packet []byte) {
	f.idle.Reset(f.plane.opt.UDPIdleTimeout)
	if len(f.prefix) > 0 {
		packet = append(append([]byte{}, f.prefix...), packet...)
	}
	_, _ = f.conn.Write(packet)
}
