package dataplane

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// anycastUDPSocket is an anycastSocket for UDP, with its flows.
type anycastUDPSocket struct {
	*anycastSocket
	conn     *net.UDPConn
	lifetime lifetime

	mu    sync.Mutex
	flows map[netip.AddrPort]*anycastUDPFlow // by client
}

// anycastUDPFlow forwards the datagrams of one client to its endpoint. When idleTimer expires, the flow ends.
type anycastUDPFlow struct {
	conn      net.Conn
	idleTimer *time.Timer
}

// close closes the socket and ends its flows, because responses can only be sent from the port of the socket.
func (s *anycastUDPSocket) close() {
	_ = s.conn.Close()
	s.lifetime.end()
}

func (s *anycastUDPSocket) forwardDatagrams() {
	readDatagrams(s.conn, func(packet []byte, from netip.AddrPort) {
		if f := s.flowOf(from); f != nil {
			f.idleTimer.Reset(s.plane.opt.AcceleratorUDPIdleTimeout)
			_, _ = f.conn.Write(packet) // packets that cannot be sent are dropped, as UDP allows
		}
	})
}

// flowOf returns the flow of a client. If there is none, it creates one. It returns nil if no endpoint can be reached.
func (s *anycastUDPSocket) flowOf(client netip.AddrPort) *anycastUDPFlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flows[client]; f != nil {
		return f
	}
	conn, done, err := s.connect(s.lifetime, s.plane.clientOf(client))
	if err != nil {
		return nil
	}
	f := &anycastUDPFlow{conn: conn, idleTimer: time.AfterFunc(s.plane.opt.AcceleratorUDPIdleTimeout, func() { _ = conn.Close() })}
	s.flows[client] = f
	s.plane.goroutines.Go(func() {
		defer done()
		stop := context.AfterFunc(s.lifetime, func() { _ = conn.Close() })
		defer stop()
		s.forwardAnswers(client, f)
	})
	return f
}

// forwardAnswers forwards the endpoint's datagrams to the client until the flow ends.
func (s *anycastUDPSocket) forwardAnswers(client netip.AddrPort, f *anycastUDPFlow) {
	readAnswers(f.conn, func(packet []byte) {
		f.idleTimer.Reset(s.plane.opt.AcceleratorUDPIdleTimeout)
		_, _ = s.conn.WriteToUDPAddrPort(packet, client)
	})
	f.idleTimer.Stop()
	_ = f.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flows, client)
}
