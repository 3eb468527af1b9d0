package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"
)

// tcpSocket accepts the TCP connections of a listener.
type tcpSocket struct {
	listener *networkListener
	ln       net.Listener
	lifetime lifetime
}

func (s *tcpSocket) localAddress() netip.AddrPort { return s.ln.Addr().(*net.TCPAddr).AddrPort() }

// close closes the socket and resets its connections.
func (s *tcpSocket) close() {
	_ = s.ln.Close()
	s.lifetime.end()
}

func (s *tcpSocket) accept() {
	acceptConnections(s.ln, func(conn *net.TCPConn) {
		s.listener.plane.goroutines.Go(func() { s.serve(conn) })
	})
}

// acceptConnections calls take with each new connection, until the listener is closed.
func acceptConnections(ln net.Listener, take func(*net.TCPConn)) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // only the connection being accepted has failed
		}
		take(conn.(*net.TCPConn))
	}
}

// serve forwards one connection until it ends.
func (s *tcpSocket) serve(conn *net.TCPConn) {
	p := s.listener.plane
	f := s.listener.newFlow(conn.RemoteAddr().(*net.TCPAddr).AddrPort(), newSalt())
	if !f.route.admits(p, f.client.Addr(), false) {
		p.discardUntilClosed(conn)
		return
	}
	defer f.logAccess()
	if !f.chooseTarget("") {
		resetConn(conn)
		return
	}
	ctx, end := p.calls.begin(s.lifetime, f.target)
	defer end()
	stop := context.AfterFunc(ctx, func() { resetConn(conn) })
	defer stop()

	client := duplexConn(conn)
	if cfg := f.route.listener.tls; cfg != nil {
		secure := tls.Server(conn, cfg)
		if err := handshake(ctx, secure); err != nil {
			_ = conn.Close()
			return
		}
		client = secure
	}
	raw, err := p.dialTarget(ctx, "tcp", f.packetSource(), f.targetAddress)
	if err != nil {
		resetConn(conn)
		return
	}
	there := raw.(*net.TCPConn)
	stopThere := context.AfterFunc(ctx, func() { resetConn(there) })
	defer stopThere()
	target, err := f.prepareTargetConn(ctx, there, client)
	if err != nil {
		resetConn(conn)
		resetConn(there)
		return
	}
	pipe(client, target, f.route.listener.attr.tcpIdleTimeout, func() {
		resetConn(conn)
		resetConn(there)
	})
}

// prepareTargetConn sends the proxy protocol header to the target and performs a TLS handshake with it, if the target group
// requires them. It returns the connection for the data.
func (f *flow) prepareTargetConn(ctx context.Context, conn *net.TCPConn, client duplexConn) (duplexConn, error) {
	if f.view.attr.proxyProtocol {
		if _, err := conn.Write(proxyHeader(f.client, f.route.address, false)); err != nil {
			return nil, err
		}
	}
	if f.view.cfg.Protocol != TLS {
		return conn, nil
	}
	cfg := targetTLSConfig()
	cfg.MaxVersion = f.route.listener.maxTargetTLSVersion
	if secure, ok := client.(*tls.Conn); ok {
		if chosen := secure.ConnectionState().NegotiatedProtocol; chosen != "" {
			cfg.NextProtos = []string{chosen}
		}
	}
	secure := tls.Client(conn, cfg)
	return secure, handshake(ctx, secure)
}

// handshake performs a TLS handshake with a client or target. It fails after a time limit.
func handshake(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, tlsHandshakeTimeout)
	defer cancel()
	return conn.HandshakeContext(ctx)
}

// duplexConn is a connection whose two directions can be closed separately.
type duplexConn interface {
	net.Conn
	CloseWrite() error
}

// resetConn closes a connection with a TCP reset.
func resetConn(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// pipe copies bytes in both directions until both connections have sent their last byte, and then closes both
// connections. It calls cut if one of the connections fails, or if nothing was copied for the idle time.
func pipe(a, b duplexConn, idle time.Duration, cut func()) {
	timer := time.AfterFunc(idle, cut)
	defer timer.Stop()
	done := make(chan error, 1)
	copyOne := func(to, from duplexConn) error {
		err := copyDirection(to, from, func() { timer.Reset(idle) })
		if err != nil {
			cut()
		}
		return err
	}
	go func() { done <- copyOne(b, a) }()
	err := copyOne(a, b)
	if other := <-done; err == nil && other == nil {
		_ = a.Close()
		_ = b.Close()
	}
}

// copyDirection copies bytes from connection "from" to connection "to". At the end of "from", it closes the write
// direction of "to". It calls moved after each read with data.
func copyDirection(to, from duplexConn, moved func()) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			moved()
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			_ = to.CloseWrite()
			return nil
		default:
			return err
		}
	}
}
