package echo

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// Config determines the identity and the behaviour of a server. The server calls the functions in it for each connection or
// request, so changes take effect immediately.
type Config struct {
	// Address is the address of the pod in the VPC; the server listens on the corresponding loopback address, see package
	// loopback.
	Address netip.Addr
	// Identity returns the identity of the pod, which is a part of each Answer.
	Identity func() Identity
	// Protocol returns the protocol of a TCP port.
	Protocol func(port int) Protocol
	// Status returns the default status of HTTP responses; 0 means 200. Status may be nil.
	Status func() int
	// Certificate is the certificate of TLS ports.
	Certificate tls.Certificate
}

// Server is the server of one pod. Listen and ListenUDP open its ports, and Shutdown closes them.
type Server struct {
	cfg        Config
	http1      *http.Server
	http2      *http.Server
	grpcServer *grpc.Server
	tls        *tls.Config
	// These are the listeners of http1, http2 and grpcServer. Each gets the connections of all ports with the protocol of
	// its server.
	http1Conns, http2Conns, grpcConns *connListener

	mu        sync.Mutex
	listeners map[int]net.Listener
	datagrams map[int]net.PacketConn
	rawConns  map[net.Conn]struct{}
	closed    bool
	wg        sync.WaitGroup
}

// New returns a server without open ports.
func New(cfg Config) *Server {
	s := &Server{
		cfg:        cfg,
		listeners:  map[int]net.Listener{},
		datagrams:  map[int]net.PacketConn{},
		rawConns:   map[net.Conn]struct{}{},
		http1Conns: newConnListener(),
		http2Conns: newConnListener(),
		grpcConns:  newConnListener(),
	}
	s.tls = &tls.Config{
		Certificates: []tls.Certificate{cfg.Certificate},
		NextProtos:   []string{"h2", "http/1.1"},
		MinVersion:   tls.VersionTLS12,
	}
	handler := http.HandlerFunc(s.handleHTTP)
	var p1, p2 http.Protocols
	p1.SetHTTP1(true)
	p1.SetHTTP2(true) // Over TLS only.
	p2.SetUnencryptedHTTP2(true)
	s.http1 = &http.Server{Handler: handler, Protocols: &p1, ReadHeaderTimeout: time.Minute}
	s.http2 = &http.Server{Handler: handler, Protocols: &p2, ReadHeaderTimeout: time.Minute}
	s.grpcServer = s.newGRPCServer()
	s.wg.Go(func() { s.http1.Serve(s.http1Conns) })
	s.wg.Go(func() { s.http2.Serve(s.http2Conns) })
	s.wg.Go(func() { s.grpcServer.Serve(s.grpcConns) })
	return s
}

// Listen opens a TCP port. It has no effect if the port is open, and returns net.ErrClosed after Shutdown.
func (s *Server) Listen(port int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if s.listeners[port] != nil {
		return nil
	}
	l, err := net.Listen("tcp4", loopback.HostPort(s.cfg.Address, port))
	if err != nil {
		return err
	}
	s.listeners[port] = l
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.dispatch(c, port) })
		}
	})
	return nil
}

// dispatch passes a connection to the server for the protocol of the port. It handles the TLS handshake and the protocol TCP
// itself.
func (s *Server) dispatch(c net.Conn, port int) {
	protocol := s.cfg.Protocol(port)
	if protocol.usesTLS() {
		// A client that never finishes its handshake must not delay the shutdown.
		c.SetDeadline(time.Now().Add(10 * time.Second))
		t := tls.Server(c, s.tls)
		if err := t.Handshake(); err != nil {
			c.Close()
			return
		}
		c.SetDeadline(time.Time{})
		if protocol == HTTPS {
			s.http1Conns.deliver(t) // http1 uses the negotiated protocol.
			return
		}
		s.grpcConns.deliver(t)
		return
	}
	switch protocol {
	case H2C:
		s.http2Conns.deliver(c)
	case GRPC:
		s.grpcConns.deliver(c)
	case TCP:
		s.echoRaw(c)
	default:
		s.http1Conns.deliver(c)
	}
}

func (s *Server) echoRaw(c net.Conn) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		c.Close()
		return
	}
	s.rawConns[c] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.rawConns, c)
		s.mu.Unlock()
		c.Close()
	}()
	io.Copy(c, c)
}

// Shutdown closes the ports, waits until the current requests are finished or ctx ends, and then closes all connections. The
// server cannot be used again.
func (s *Server) Shutdown(ctx context.Context) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	for _, l := range s.listeners {
		l.Close()
	}
	for _, c := range s.datagrams {
		c.Close()
	}
	s.mu.Unlock()

	var wg sync.WaitGroup
	for _, h := range []*http.Server{s.http1, s.http2} {
		wg.Go(func() {
			if err := h.Shutdown(ctx); errors.Is(err, ctx.Err()) {
				h.Close()
			}
		})
	}
	wg.Go(func() {
		stop := context.AfterFunc(ctx, s.grpcServer.Stop)
		defer stop()
		s.grpcServer.GracefulStop()
	})
	wg.Wait()
	s.mu.Lock()
	for c := range s.rawConns {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// connListener is a net.Listener whose Accept returns the connections that are passed to deliver.
type connListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newConnListener() *connListener {
	return &connListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (f *connListener) deliver(c net.Conn) {
	select {
	case f.conns <- c:
	case <-f.done:
		c.Close()
	}
}

func (f *connListener) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *connListener) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

func (f *connListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero} }
