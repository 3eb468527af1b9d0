package echo

import (
	"encoding/json"
	"errors"
	"net"
	"strings"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// maxDatagram is the largest payload of UDP over IPv4.
const maxDatagram = 65507

// ListenUDP opens a UDP port. It has no effect if the port is open, and returns net.ErrClosed after Shutdown.
func (s *Server) ListenUDP(port int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if s.datagrams[port] != nil {
		return nil
	}
	c, err := net.ListenPacket("udp4", loopback.HostPort(s.cfg.Address, port))
	if err != nil {
		return err
	}
	s.datagrams[port] = c
	s.wg.Go(func() { s.handleDatagrams(c, port) })
	return nil
}

// handleDatagrams sends a reply to each datagram until the socket is closed.
func (s *Server) handleDatagrams(c net.PacketConn, port int) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // The error is about an earlier reply to a client that has closed its socket.
		}
		b, err := json.Marshal(Response{
			Identity: s.cfg.Identity(),
			Port:     port,
			Protocol: "UDP",
			Client:   from.String(),
			Body:     strings.ToValidUTF8(string(buf[:min(n, 4<<10)]), "?"),
		})
		if err == nil {
			c.WriteTo(b, from)
		}
	}
}
