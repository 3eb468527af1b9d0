package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/scenario"
)

// hostname returns the DNS name of the load balancer in the status of the object ref: NS/INGRESS, service:NS/NAME,
// gateway:NS/NAME or accelerator:NS/NAME. For record:NAME it returns the target of the alias record NAME.
func (s *scriptCluster) hostname(ctx context.Context, ref string) (string, error) {
	kind, object, ok := strings.Cut(ref, ":")
	if !ok {
		kind, object = "", ref
	}
	if kind == "record" {
		return aliasRecordTarget(ctx, s.World, object)
	}
	ns, name, ok := strings.Cut(object, "/")
	if !ok {
		return "", fmt.Errorf("%q is not NAMESPACE/NAME", object)
	}
	switch kind {
	case "":
		return s.Hostname(ctx, ns, name)
	case "service":
		return s.ServiceHostname(ctx, ns, name)
	case "gateway":
		return s.GatewayHostname(ctx, ns, name)
	case "accelerator":
		return s.AcceleratorHostname(ctx, ns, name)
	}
	return "", fmt.Errorf("unknown kind %q; use service, gateway, accelerator or record", kind)
}

// cachedName returns the DNS name of a load balancer as clients see it. Clients use a DNS record with the name in the
// status, and cache the record for its TTL.
type cachedName struct {
	cluster *scriptCluster
	ref     string
	ttl     time.Duration

	mu             sync.Mutex
	cachedHostname string
	expiresAt      time.Time
}

func (n *cachedName) hostname(ctx context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.expiresAt) {
		return n.cachedHostname, nil
	}
	name, err := n.cluster.hostname(ctx, n.ref)
	if err != nil {
		return "", err
	}
	n.cachedHostname, n.expiresAt = name, time.Now().Add(n.ttl)
	return name, nil
}

// loadClient sends the requests of a load, which the script command "load" starts.
type loadClient interface {
	sendRequest(ctx context.Context) (scenario.Reply, error)
	// isSequential reports whether a request must wait for the response to the previous request.
	isSequential() bool
	close()
}

// newClient returns a client that sends requests for the URL address to the load balancer at. The scheme is http, https or
// udp. If keep is true, the client uses one connection or socket; otherwise it uses a new one for each request or datagram.
func newClient(at *cachedName, address string, keep bool) (loadClient, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	// The default port of the scheme is added only to the address to dial, not to the Host header.
	c := clientBase{target: at, url: u, address: u.Host}
	if u.Port() == "" {
		c.address = net.JoinHostPort(u.Host, map[string]string{"http": "80", "https": "443", "udp": "53"}[u.Scheme])
	}
	switch {
	case u.Scheme == "udp":
		return &datagramClient{clientBase: c, keepSocket: keep}, nil
	case keep:
		return &persistentClient{clientBase: c}, nil
	}
	return newConnectionClient{c}, nil
}

// clientBase contains the fields that all clients share.
type clientBase struct {
	target  *cachedName
	url     *url.URL
	address string // host and port to dial
}

func (c clientBase) dial(ctx context.Context, network string) (net.Conn, error) {
	name, err := c.target.hostname(ctx)
	if err != nil {
		return nil, err
	}
	return c.target.cluster.World.Dialer(name)(ctx, network, c.address)
}

// newConnectionClient uses a new connection for each request.
type newConnectionClient struct{ clientBase }

func (c newConnectionClient) sendRequest(ctx context.Context) (scenario.Reply, error) {
	name, err := c.target.hostname(ctx)
	if err != nil {
		return scenario.Reply{}, err
	}
	return scenario.Get(ctx, c.target.cluster.World.HTTPClient(name), c.url.String(), nil)
}

func (c newConnectionClient) isSequential() bool { return false }
func (c newConnectionClient) close()             {}

// persistentClient uses one connection for all requests. A broken connection counts as a failed request.
type persistentClient struct {
	clientBase
	conn *scenario.PersistentConn
}

func (c *persistentClient) sendRequest(ctx context.Context) (scenario.Reply, error) {
	if c.conn == nil {
		conn, err := c.dial(ctx, "tcp")
		if err != nil {
			return scenario.Reply{}, err
		}
		if c.url.Scheme == "https" {
			secure := tls.Client(conn, &tls.Config{RootCAs: c.target.cluster.World.RootCAs(), ServerName: c.url.Hostname()})
			if err := secure.HandshakeContext(ctx); err != nil {
				conn.Close()
				return scenario.Reply{}, err
			}
			conn = secure
		}
		c.conn = scenario.NewPersistentConn(conn)
	}
	r, err := c.conn.Get(c.url.String())
	if err != nil {
		c.close()
	}
	return r, err
}

func (c *persistentClient) isSequential() bool { return true }

func (c *persistentClient) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// datagramClient sends each datagram from a new socket, or all datagrams from one socket if keepSocket is true.
type datagramClient struct {
	clientBase
	keepSocket bool
	conn       net.Conn
	sentCount  int
}

func (c *datagramClient) sendRequest(ctx context.Context) (scenario.Reply, error) {
	conn := c.conn
	if conn == nil {
		var err error
		if conn, err = c.dial(ctx, "udp"); err != nil {
			return scenario.Reply{}, err
		}
		if c.keepSocket {
			c.conn = conn
		} else {
			defer conn.Close()
		}
	}
	text := http.MethodGet
	if c.keepSocket { // a number distinguishes late replies to earlier datagrams
		c.sentCount++
		text += strconv.Itoa(c.sentCount)
	}
	return scenario.SendDatagram(ctx, conn, text)
}

func (c *datagramClient) isSequential() bool { return c.keepSocket }

func (c *datagramClient) close() {
	if c.conn != nil {
		c.conn.Close()
	}
}
