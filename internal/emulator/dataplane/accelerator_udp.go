package dataplane

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// datagrams is a UDP listenSocket with its flows.
type datagrams struct {
	*listenSocket
	conn *net.UDPConn
	life lifetime

	mu    sync.Mutex
	flows map[netip.AddrPort]*datagramFlow // by client
}

// datagramFlow is the flow of a client's datagrams to its endpoint.
type datagramFlow struct {
	conn net.Conn
	idle *time.Timer
}

// close ends the flows with the socket, as no answer could be sent from its port any more.
func (s *datagrams) close() {
	_ = s.conn.Close()
	s.life.end()
}

func (s *datagrams) read() {
	readAll(s.conn, func(packet []byte, from netip.AddrPort) {
		if f := s.flowOf(from); f != nil {
			f.idle.Reset(s.plane.opt.AcceleratorUDPIdleTimeout)
			_, _ = f.conn.Write(packet) // packets that cannot be sent are dropped, as UDP allows
		}
	})
}

// flowOf returns the flow of a client, and creates it if there is none. It returns nil if the endpoint cannot be
// reached.
func (s *datagrams) flowOf(client netip.AddrPort) *datagramFlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flows[client]; f != nil {
		return f
	}
	conn, done, err := s.connect(s.life, s.plane.clientOf(client))
	if err != nil {
		return nil
	}
	f := &datagramFlow{conn: conn, idle: time.AfterFunc(s.plane.opt.AcceleratorUDPIdleTimeout, func() { _ = conn.Close() })}
	s.flows[client] = f
	s.plane.work.Go(func() {
		defer done()
		stop := context.AfterFunc(s.life, func() { _ = conn.Close() })
		defer stop()
		s.answer(client, f)
	})
	return f
}

// answer forwards the endpoint's datagrams to the client until the flow ends.
func (s *datagrams) answer(client netip.AddrPort, f *datagramFlow) {
	readAnswers(f.conn, func(packet []byte) {
		f.idle.Reset(s.plane.opt.AcceleratorUDPIdleTimeout)
		_, _ = s.conn.WriteToUDPAddrPort(packet, client)
	})
	f.idle.Stop()
	_ = f.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.flows, client)
}
