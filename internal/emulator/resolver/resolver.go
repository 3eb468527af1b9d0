// Package resolver is a small DNS server for the names of emulated load balancers. It answers A and AAAA queries over UDP
// and TCP, with addresses that a callback returns. For names that do not exist it answers NXDOMAIN. It does not forward
// queries, has no cache and no zones.
package resolver

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// answerTTL is the TTL of all answers, in seconds.
const answerTTL = 60

// Lookup returns the addresses of a name, and whether the name exists. The name is in lower case and has no trailing dot.
// The server calls Lookup from many goroutines.
type Lookup func(name string) (addresses []netip.Addr, exists bool)

// maxUDPBytes is the largest answer that a client without EDNS accepts over UDP.
const maxUDPBytes = 512

// tcpIdleTimeout is the idle timeout of TCP connections.
const tcpIdleTimeout = 10 * time.Second

// Server is a running resolver.
type Server struct {
	lookup     Lookup
	udp        *net.UDPConn
	tcp        *net.TCPListener
	goroutines sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil after Close
}

// Start starts a server that listens on the address, for example "127.0.0.1:0", with UDP and TCP on the same port. For port
// 0, it chooses a port that is free for both.
func Start(address string, lookup Lookup) (*Server, error) {
	want, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, fmt.Errorf("resolver address: %w", err)
	}
	const attempts = 20 // a port that is free for TCP can be taken for UDP
	for range attempts {
		var s *Server
		if s, err = listen(want, lookup); err == nil {
			s.goroutines.Go(s.serveUDP)
			s.goroutines.Go(s.serveTCP)
			return s, nil
		}
		if want.Port() != 0 {
			break
		}
	}
	return nil, err
}

func listen(at netip.AddrPort, lookup Lookup) (*Server, error) {
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(tcp.Addr().(*net.TCPAddr).AddrPort()))
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	return &Server{lookup: lookup, udp: udp, tcp: tcp, conns: map[net.Conn]struct{}{}}, nil
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() netip.AddrPort { return s.tcp.Addr().(*net.TCPAddr).AddrPort() }

// Close stops the server and waits until its goroutines have ended.
func (s *Server) Close() {
	_ = s.udp.Close()
	_ = s.tcp.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.goroutines.Wait()
}

func (s *Server) serveUDP() {
	buf := make([]byte, 4096)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // an earlier reply could not be delivered
		}
		if reply := replyTo(buf[:n], s.lookup, maxUDPBytes); reply != nil {
			_, _ = s.udp.WriteToUDPAddrPort(reply, from)
		}
	}
}

func (s *Server) serveTCP() {
	for {
		conn, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if !s.trackConn(conn) {
			_ = conn.Close()
			return
		}
		s.goroutines.Go(func() {
			defer s.closeConn(conn)
			s.serveConn(conn)
		})
	}
}

// serveConn answers the queries of a TCP connection. Each message begins with its length in two bytes.
func (s *Server) serveConn(conn net.Conn) {
	for {
		_ = conn.SetDeadline(time.Now().Add(tcpIdleTimeout))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		reply := replyTo(question, s.lookup, 1<<16-1)
		if reply == nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// trackConn records an open connection. It returns false if the server is closed.
func (s *Server) trackConn(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) closeConn(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// replyTo returns the reply to a message, or nil if the message is not a query. A reply that is longer than limit bytes is
// truncated; the client then repeats the query over TCP.
func replyTo(message []byte, lookup Lookup, limit int) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(message)
	if err != nil || head.Response {
		return nil
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode, Authoritative: true, RecursionDesired: head.RecursionDesired,
	}}
	q, err := p.Question()
	switch {
	case err != nil:
		reply.RCode = dnsmessage.RCodeFormatError
	case head.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	default:
		reply.Questions = []dnsmessage.Question{q}
		addAnswers(&reply, q, lookup)
	}
	packed, err := reply.Pack()
	if err == nil && len(packed) > limit {
		reply.Truncated, reply.Answers = true, nil
		packed, err = reply.Pack()
	}
	if err != nil {
		return nil
	}
	return packed
}

// addAnswers adds the answers to question q to the reply. A name without addresses of the requested type gets no answers.
func addAnswers(reply *dnsmessage.Message, q dnsmessage.Question, lookup Lookup) {
	addresses, exists := lookup(strings.ToLower(strings.TrimSuffix(q.Name.String(), ".")))
	if !exists {
		reply.RCode = dnsmessage.RCodeNameError
		return
	}
	if q.Class != dnsmessage.ClassINET {
		return
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: answerTTL}
	for _, a := range addresses {
		a = a.Unmap()
		switch {
		case q.Type == dnsmessage.TypeA && a.Is4():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: a.As4()}})
		case q.Type == dnsmessage.TypeAAAA && a.Is6():
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
}
