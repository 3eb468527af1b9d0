package dataplane

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"
)

// Limits on requests of clients and responses of targets, in bytes, and on the duration of TLS handshakes.
const (
	maxHeaderBytes       = 64 << 10
	maxHeaderLine        = 16 << 10
	maxTargetHeaderBytes = 32 << 10
	tlsHandshakeTimeout  = 10 * time.Second
)

// nodeTransport manages the connections of one load balancer node to the targets of one target group.
type nodeTransport struct {
	idleTimeout time.Duration // idle timeout of the connections
	*http.Transport
}

// nodeTransport returns the transport of a node. It creates one if the node has none, or if the idle timeout has changed.
func (g *targetGroup) nodeTransport(p *Plane, node netip.Addr, v *targetGroupView, idle time.Duration) *nodeTransport {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.nodeTransports[node]; c != nil {
		if c.idleTimeout == idle {
			return c
		}
		c.CloseIdleConnections()
	}
	c := &nodeTransport{idleTimeout: idle, Transport: &http.Transport{
		Protocols:              transportProtocols(v.cfg.Protocol, v.cfg.ProtocolVersion),
		TLSClientConfig:        targetTLSConfig(),
		TLSHandshakeTimeout:    tlsHandshakeTimeout,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        idle,
		ResponseHeaderTimeout:  idle,
		MaxResponseHeaderBytes: maxTargetHeaderBytes,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			at, err := netip.ParseAddrPort(addr)
			if err != nil {
				return nil, err
			}
			conn, err := p.dialTarget(ctx, network, packetSource{node: node}, at)
			if err != nil {
				return nil, err
			}
			return &idleTimeoutConn{Conn: conn, limit: idle}, nil
		},
	}}
	g.nodeTransports[node] = c
	return c
}

// closeNodeTransports removes the transports of all nodes and closes their idle connections.
func (g *targetGroup) closeNodeTransports() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for node, c := range g.nodeTransports {
		c.CloseIdleConnections()
		delete(g.nodeTransports, node)
	}
}

// transportProtocols returns the HTTP protocols for targets with a protocol and a protocol version. HTTP/2 without TLS is
// used with prior knowledge.
func transportProtocols(protocol Protocol, version ProtocolVersion) *http.Protocols {
	var p http.Protocols
	switch {
	case version != HTTP2 && version != GRPC:
		p.SetHTTP1(true)
	case protocol == HTTPS:
		p.SetHTTP2(true)
	default:
		p.SetUnencryptedHTTP2(true)
	}
	return &p
}

// idleTimeoutConn is a connection whose reads and writes fail after a time limit without traffic. A limit of 0 means no
// timeout.
type idleTimeoutConn struct {
	net.Conn
	limit time.Duration
}

func (c *idleTimeoutConn) extendDeadline() error {
	if c.limit <= 0 {
		return nil
	}
	return c.SetDeadline(time.Now().Add(c.limit))
}

func (c *idleTimeoutConn) Read(b []byte) (int, error) {
	if err := c.extendDeadline(); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

func (c *idleTimeoutConn) Write(b []byte) (int, error) {
	if err := c.extendDeadline(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// isTimeout reports whether err is a timeout of a request to a target.
func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &netErr) && netErr.Timeout()
}
