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

// maxDatagramBytes is the largest payload of a UDP datagram over IPv4, in bytes.
const maxDatagramBytes = 65507

// udpSocket receives the datagrams of a listener and forwards them in flows.
type udpSocket struct {
	listener *networkListener
	conn     *net.UDPConn
	lifetime lifetime

	mu    sync.Mutex
	flows map[udpKey]*udpFlow
}

// udpKey identifies a flow by its client. It contains a QUIC server ID if this ID selects another target than the
// client's first flow has.
type udpKey struct {
	peer         netip.AddrPort
	quicServerID string
}

// udpFlow forwards the datagrams of one client to one target.
type udpFlow struct {
	*flow
	conn      net.Conn
	idleTimer *time.Timer
	// prefix precedes each datagram. It is a proxy protocol header, or nil.
	prefix []byte
}

func (s *udpSocket) localAddress() netip.AddrPort {
	return s.conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

// close closes the socket and ends its flows.
func (s *udpSocket) close() {
	_ = s.conn.Close()
	s.lifetime.end()
}

func (s *udpSocket) forwardDatagrams() {
	readDatagrams(s.conn, func(packet []byte, peer netip.AddrPort) {
		if f := s.flowOf(peer, packet); f != nil {
			f.send(packet)
		}
	})
}

// readDatagrams calls take with each received datagram, until the socket is closed. take must not retain the packet.
func readDatagrams(conn *net.UDPConn, take func(packet []byte, from netip.AddrPort)) {
	buf := make([]byte, maxDatagramBytes)
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

// readAnswers calls take with each datagram that a connected socket receives, until the socket is closed. take must not
// retain the packet.
func readAnswers(conn net.Conn, take func(packet []byte)) {
	buf := make([]byte, maxDatagramBytes)
	for {
		n, err := conn.Read(buf)
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue // nothing listens at the target; the client is not informed
		}
		if err != nil {
			return
		}
		take(buf[:n])
	}
}

// flowOf returns the flow for a datagram. If there is none, it creates one. It returns nil if the datagram is dropped.
func (s *udpSocket) flowOf(peer netip.AddrPort, packet []byte) *udpFlow {
	server := ""
	if s.listener.route.Load().listener.protocol.hasQUIC() {
		server = readQUICServerID(packet)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.flows[udpKey{peer: peer}]
	if first != nil && (server == "" || first.target.quicServerID == server) {
		return first
	}
	if server != "" {
		if known := s.flows[udpKey{peer, server}]; known != nil {
			return known
		}
		if f := s.startFlow(udpKey{peer, server}); f != nil {
			return f
		}
		// No target has this server ID: a client chooses its first connection ID at random.
		if first != nil {
			return first
		}
	}
	return s.startFlow(udpKey{peer: peer})
}

// startFlow creates a flow. It returns nil if the client is not permitted or no target can be reached. The caller holds
// s.mu.
func (s *udpSocket) startFlow(key udpKey) *udpFlow {
	p := s.listener.plane
	f := &udpFlow{flow: s.listener.newFlow(key.peer, 0)}
	if !f.route.admits(p, f.client.Addr(), true) || !f.chooseTarget(key.quicServerID) {
		return nil
	}
	ctx, end := p.calls.begin(s.lifetime, f.target)
	conn, err := p.dialTarget(ctx, "udp", f.packetSource(), f.targetAddress)
	if err != nil {
		end()
		return nil
	}
	f.conn = conn
	f.idleTimer = time.AfterFunc(p.opt.UDPIdleTimeout, func() { _ = conn.Close() })
	if f.view.attr.proxyProtocol {
		f.prefix = proxyHeader(f.client, f.route.address, true)
	}
	s.flows[key] = f
	p.goroutines.Go(func() {
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		defer end()
		s.forwardAnswers(key, f)
	})
	return f
}

// forwardAnswers forwards the target's datagrams to the client until the flow ends, and then removes the flow.
func (s *udpSocket) forwardAnswers(key udpKey, f *udpFlow) {
	readAnswers(f.conn, func(packet []byte) {
		s.resetIdleTimer(key, f)
		_, _ = s.conn.WriteToUDPAddrPort(packet, key.peer)
	})
	f.idleTimer.Stop()
	_ = f.conn.Close()
	s.mu.Lock()
	if s.flows[key] == f {
		delete(s.flows, key)
	}
	s.mu.Unlock()
	f.logAccess()
}

// resetIdleTimer restarts the idle timer of a flow, unless removeFlows has removed the flow.
func (s *udpSocket) resetIdleTimer(key udpKey, f *udpFlow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flows[key] == f {
		f.idleTimer.Reset(s.listener.plane.opt.UDPIdleTimeout)
	}
}

// lateAnswerTime is the time for which a flow that removeFlows removed still forwards answers.
const lateAnswerTime = time.Second

// removeFlows removes the flows to a target group. The removed flows still forward answers for lateAnswerTime.
func (s *udpSocket) removeFlows(g *targetGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, f := range s.flows {
		if f.targetGroup == g {
			delete(s.flows, key)
			f.idleTimer.Reset(lateAnswerTime)
		}
	}
}

// send forwards a datagram of the client. A datagram that cannot be sent is dropped, as UDP allows.
func (f *udpFlow) send(packet []byte) {
	f.idleTimer.Reset(f.plane.opt.UDPIdleTimeout)
	if len(f.prefix) > 0 {
		packet = append(append([]byte{}, f.prefix...), packet...)
	}
	_, _ = f.conn.Write(packet)
}
