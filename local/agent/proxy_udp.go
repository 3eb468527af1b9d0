package agent

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// flowIdleTimeout is the idle timeout of a UDP flow, as in the conntrack table of the kernel.
const flowIdleTimeout = 2 * time.Minute

// datagramPort is an open UDP node port with its flows.
type datagramPort struct {
	proxy *proxy
	key   nodePortKey
	conn  *net.UDPConn

	mu    sync.Mutex
	flows map[netip.AddrPort]*datagramFlow
}

// datagramFlow connects a client with one endpoint.
type datagramFlow struct {
	endpoint string
	conn     net.Conn
}

func (p *proxy) listenUDP(key nodePortKey) (io.Closer, error) {
	at, err := net.ResolveUDPAddr("udp4", loopback.HostPort(key.address, int(key.port)))
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", at)
	if err != nil {
		return nil, err
	}
	d := &datagramPort{proxy: p, key: key, conn: conn, flows: map[netip.AddrPort]*datagramFlow{}}
	go d.forwardDatagrams()
	return d, nil
}

// Close closes the port and its flows.
func (d *datagramPort) Close() error {
	err := d.conn.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.flows {
		f.conn.Close()
	}
	return err
}

func (d *datagramPort) forwardDatagrams() {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := d.conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // The error is about a client that has closed its socket.
		}
		if f := d.flowOf(from); f != nil {
			f.conn.Write(buf[:n])
		}
	}
}

// flowOf returns the flow of a client, or nil if there is no endpoint. If agent.endpoints no longer returns the
// endpoint of a flow, the client gets a new flow, as with kube-proxy, which deletes the conntrack entries of removed
// endpoints.
func (d *datagramPort) flowOf(from netip.AddrPort) *datagramFlow {
	endpoints := d.proxy.agent.endpoints(d.key)
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.flows[from]; f != nil {
		if slices.Contains(endpoints, f.endpoint) {
			f.conn.SetReadDeadline(time.Now().Add(flowIdleTimeout))
			return f
		}
		f.conn.Close()
		delete(d.flows, from)
	}
	if len(endpoints) == 0 {
		return nil
	}
	at := endpoints[rand.IntN(len(endpoints))]
	conn, err := net.Dial("udp4", at)
	if err != nil {
		return nil
	}
	conn.SetReadDeadline(time.Now().Add(flowIdleTimeout))
	f := &datagramFlow{endpoint: at, conn: conn}
	d.flows[from] = f
	go d.forwardReplies(from, f)
	return f
}

// forwardReplies forwards datagrams of an endpoint to the client until the flow is idle or closed.
func (d *datagramPort) forwardReplies(to netip.AddrPort, f *datagramFlow) {
	buf := make([]byte, 64<<10)
	for {
		n, err := f.conn.Read(buf)
		var timeout net.Error
		if errors.Is(err, net.ErrClosed) || errors.As(err, &timeout) && timeout.Timeout() {
			break
		}
		if err != nil {
			continue // Nothing listens at the endpoint; the client gets no reply.
		}
		d.conn.WriteToUDPAddrPort(buf[:n], to)
	}
	f.conn.Close()
	d.mu.Lock()
	if d.flows[to] == f {
		delete(d.flows, to)
	}
	d.mu.Unlock()
}
