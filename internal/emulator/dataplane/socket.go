package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// listenerSocket is the open socket of one listener of an Application Load Balancer on one node. It stays open as long as
// the listener exists. Requests use the current route. If the protocol or the idle timeout changes, a new serverGeneration
// serves new connections.
type listenerSocket struct {
	plane        *Plane
	localAddress netip.AddrPort
	ln           net.Listener
	route        atomic.Pointer[route]

	mu                sync.Mutex
	closed            bool
	currentGeneration *serverGeneration
}

// serverGeneration serves the connections that were accepted with the same serverKey.
type serverGeneration struct {
	key      serverKey
	listener *channelListener
	srv      *http.Server
}

// serverKey contains the settings that cannot change while a net/http server runs.
type serverKey struct {
	protocol    Protocol
	idleTimeout time.Duration
}

// openListenerSocket opens the socket for a listener with VPC address "at" and starts to accept connections.
func (p *Plane) openListenerSocket(at netip.AddrPort, r *route) (*listenerSocket, error) {
	ln, err := listenTCP(p.opt.BindAddress(at), p.opt.PortOffset, net.Listen)
	if err != nil {
		return nil, err
	}
	f := &listenerSocket{plane: p, ln: ln, localAddress: ln.Addr().(*net.TCPAddr).AddrPort()}
	f.setRoute(r)
	p.goroutines.Go(f.accept)
	return f, nil
}

// listenTCP opens a listening socket. If this process may not bind the port, and the port is below 1024, it binds the port
// plus offset.
func listenTCP(at netip.AddrPort, offset uint16, bind func(network, address string) (net.Listener, error)) (net.Listener, error) {
	ln, err := bind("tcp", at.String())
	if errors.Is(err, syscall.EACCES) && at.Port() != 0 && at.Port() < 1024 {
		return bind("tcp", netip.AddrPortFrom(at.Addr(), at.Port()+offset).String())
	}
	return ln, err
}

// setRoute sets the route. It starts a new serverGeneration if the serverKey has changed.
func (f *listenerSocket) setRoute(r *route) {
	f.route.Store(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	key := serverKey{protocol: r.listener.protocol, idleTimeout: r.lb.attr.idleTimeout}
	if f.closed || f.currentGeneration != nil && f.currentGeneration.key == key {
		return
	}
	if f.currentGeneration != nil {
		old := f.currentGeneration
		f.plane.goroutines.Go(func() { old.drain(f.plane.lifetime) })
	}
	f.currentGeneration = f.startGeneration(key)
}

func (f *listenerSocket) startGeneration(key serverKey) *serverGeneration {
	g := &serverGeneration{key: key, listener: newChannelListener(f.ln.Addr())}
	g.srv = &http.Server{
		Handler:           http.HandlerFunc(f.serve),
		ReadHeaderTimeout: key.idleTimeout,
		IdleTimeout:       key.idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(f.plane.opt.Log.Handler(), slog.LevelDebug),
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 128},
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, clientConnKey{}, &clientConn{openedAt: time.Now()})
		},
	}
	f.plane.goroutines.Go(func() {
		defer func() { _ = g.listener.Close() }()
		if key.protocol == HTTPS {
			g.srv.TLSConfig = &tls.Config{GetConfigForClient: f.tlsConfig}
			_ = g.srv.ServeTLS(g.listener, "", "")
			return
		}
		_ = g.srv.Serve(g.listener)
	})
	return g
}

// drain waits until all requests have finished, at most for the idle timeout, and then closes all connections.
func (g *serverGeneration) drain(life lifetime) {
	ctx, cancel := context.WithTimeout(life, g.key.idleTimeout)
	defer cancel()
	if g.srv.Shutdown(ctx) != nil {
		_ = g.srv.Close()
	}
}

func (f *listenerSocket) accept() {
	for {
		conn, err := f.ln.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // only the connection being accepted has failed
		}
		client := f.plane.clientAddress(conn.RemoteAddr().String())
		if !f.route.Load().admits(f.plane, client.Addr(), false) {
			f.plane.goroutines.Go(func() { f.plane.discardUntilClosed(conn) })
			continue
		}
		conn = &earlyErrorConn{Conn: conn}
		for {
			f.mu.Lock()
			g, closed := f.currentGeneration, f.closed
			f.mu.Unlock()
			if closed {
				_ = conn.Close()
				break
			}
			if g.listener.put(conn) {
				break
			}
		}
	}
}

// close stops accepting connections. Current requests continue for up to the idle timeout, unless the data plane is
// closed. The caller waits for current requests with work.
func (f *listenerSocket) close(work *sync.WaitGroup) {
	f.mu.Lock()
	f.closed = true
	g := f.currentGeneration
	f.mu.Unlock()
	_ = f.ln.Close()
	if f.plane.closed {
		_ = g.srv.Close()
		return
	}
	work.Go(func() { g.drain(f.plane.lifetime) })
}

// tlsConfig returns the TLS configuration of the current route.
func (f *listenerSocket) tlsConfig(*tls.ClientHelloInfo) (*tls.Config, error) {
	cfg := f.route.Load().listener.tls
	if cfg == nil {
		return nil, errors.New("the listener does not use TLS any more")
	}
	return cfg, nil
}

// clientConn contains the age of a client's connection and the number of its requests.
type clientConn struct {
	openedAt time.Time
	requests atomic.Int64
}

type clientConnKey struct{}

// channelListener is a net.Listener that returns the connections that listenerSocket.accept puts into it.
type channelListener struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newChannelListener(addr net.Addr) *channelListener {
	return &channelListener{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// put passes a connection to Accept. It returns false if the listener is closed.
func (f *channelListener) put(c net.Conn) bool {
	select {
	case <-f.done:
		return false
	default:
	}
	select {
	case f.conns <- c:
		return true
	case <-f.done:
		return false
	}
}

func (f *channelListener) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *channelListener) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

func (f *channelListener) Addr() net.Addr { return f.addr }
