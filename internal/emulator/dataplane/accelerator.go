package dataplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

// maxAcceleratorPorts is the maximum number of open ports of an accelerator. It limits the number of sockets: each port
// needs a socket on each static address.
const maxAcceleratorPorts = 200

// errNoEndpoint is the error for a flow if no endpoint can be reached.
var errNoEndpoint = errors.New("no endpoint can be reached")

// anycastListenAddress is a static address, port and protocol on which an accelerator listens.
type anycastListenAddress struct {
	at  netip.AddrPort // in the emulated network
	udp bool
}

func (k anycastListenAddress) compare(other anycastListenAddress) int {
	udp := map[bool]int{true: 1}
	return cmp.Or(k.at.Compare(other.at), cmp.Compare(udp[k.udp], udp[other.udp]))
}

// anycastSocket is the socket for one static address, port and protocol. New flows use the current view. Existing flows keep
// their endpoint until they end, even if the configuration changes.
type anycastSocket struct {
	plane         *Plane
	key           anycastListenAddress
	view          atomic.Pointer[anycastView]
	localAddress  netip.AddrPort // the address and port on this machine
	stopAccepting func()         // closes the socket, and ends its flows if the protocol is UDP
}

// anycastView is the configuration that an anycastSocket uses for new flows. It is immutable.
type anycastView struct {
	accelerator  string // ARN
	listener     AcceleratorListener
	distances    Distances
	localAddress netip.Addr // address of this machine that replaces the static address; ::1 for IPv6
	// sourceAddress is the address of this machine from which the accelerator connects to endpoints over IPv4.
	sourceAddress netip.Addr
	names         map[string]dnsNameView
}

// AcceleratorSocket is an open socket of an accelerator.
type AcceleratorSocket struct {
	Accelerator, Listener string         // ARNs
	Static                netip.AddrPort // the static address in the emulated network
	Real                  netip.AddrPort // the address on this machine
	UDP                   bool
}

// AcceleratorSockets lists the open sockets of accelerators, ordered by static address, port and protocol.
func (p *Plane) AcceleratorSockets() []AcceleratorSocket {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []AcceleratorSocket
	for _, key := range sortedAnycastAddresses(p.anycastSockets) {
		e := p.anycastSockets[key]
		view := e.view.Load()
		all = append(all, AcceleratorSocket{view.accelerator, view.listener.ARN, key.at, e.localAddress, key.udp})
	}
	return all
}

// acceleratorSocketManager opens and closes the sockets of accelerators.
type acceleratorSocketManager struct{ *Plane }

// applyAccelerators opens and closes sockets, so that the open sockets are those of the accelerators in cfg. It returns the
// errors of ports that are not served.
func (p acceleratorSocketManager) applyAccelerators(cfg Config) []error {
	wanted, errs := p.compileAccelerators(cfg)
	for key, e := range p.anycastSockets {
		if wanted[key] == nil {
			delete(p.anycastSockets, key)
			e.stopAccepting()
		}
	}
	for _, key := range sortedAnycastAddresses(wanted) {
		if e := p.anycastSockets[key]; e != nil {
			e.view.Store(wanted[key])
			continue
		}
		e, err := p.openAnycastSocket(key, wanted[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("accelerator %s: %w", wanted[key].accelerator, err))
			continue
		}
		p.anycastSockets[key] = e
	}
	return errs
}

func (p acceleratorSocketManager) compileAccelerators(cfg Config) (map[anycastListenAddress]*anycastView, []error) {
	wanted := map[anycastListenAddress]*anycastView{}
	var errs []error
	for _, a := range cfg.Accelerators {
		open := 0
	listeners:
		for _, l := range a.Listeners {
			view := anycastView{accelerator: a.ARN, listener: l, distances: cfg.Distances, sourceAddress: a.sourceAddress().Addr(), names: *p.names.Load()}
			for port := range l.eachPort() {
				if open++; open > maxAcceleratorPorts {
					errs = append(errs, fmt.Errorf("accelerator %s has more than %d ports; the other ports are not served", a.ARN, maxAcceleratorPorts))
					break listeners
				}
				for _, s := range a.Addresses {
					one := view
					one.localAddress = cmp.Or(s.Local, netip.IPv6Loopback())
					key := anycastListenAddress{netip.AddrPortFrom(s.Public, port), l.UDP}
					if other := wanted[key]; other != nil {
						errs = append(errs, fmt.Errorf("accelerator %s: %s is already served by %s", a.ARN, key.at, other.accelerator))
						continue
					}
					wanted[key] = &one
				}
			}
		}
	}
	return wanted, errs
}

// eachPort iterates over all ports in the port ranges of the listener.
func (l AcceleratorListener) eachPort() func(yield func(uint16) bool) {
	return func(yield func(uint16) bool) {
		for _, r := range l.Ports {
			for port := int(r.From); port <= int(r.To); port++ {
				if !yield(uint16(port)) {
					return
				}
			}
		}
	}
}

// sortedAnycastAddresses returns the keys of m, ordered by address, port and protocol.
func sortedAnycastAddresses[V any](m map[anycastListenAddress]V) []anycastListenAddress {
	keys := make([]anycastListenAddress, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, anycastListenAddress.compare)
	return keys
}

// openAnycastSocket opens the socket for key and starts to serve its flows.
func (p acceleratorSocketManager) openAnycastSocket(key anycastListenAddress, view *anycastView) (*anycastSocket, error) {
	e := &anycastSocket{plane: p.Plane, key: key}
	e.view.Store(view)
	at := netip.AddrPortFrom(netip.IPv6Loopback(), 0) // IPv6 addresses of load balancers use the same address
	if view.localAddress.Is4() {
		at = p.opt.BindAddress(netip.AddrPortFrom(view.localAddress, key.at.Port()))
	}
	if key.udp {
		conn, err := listenUDP(at, p.opt.PortOffset)
		if err != nil {
			return nil, err
		}
		s := &anycastUDPSocket{anycastSocket: e, conn: conn, lifetime: newLifetime(), flows: map[netip.AddrPort]*anycastUDPFlow{}}
		e.localAddress, e.stopAccepting = conn.LocalAddr().(*net.UDPAddr).AddrPort(), s.close
		p.goroutines.Go(s.forwardDatagrams)
		return e, nil
	}
	ln, err := listenTCP(at, p.opt.PortOffset, net.Listen)
	if err != nil {
		return nil, err
	}
	e.localAddress, e.stopAccepting = ln.Addr().(*net.TCPAddr).AddrPort(), func() { _ = ln.Close() }
	p.goroutines.Go(func() {
		acceptConnections(ln, func(conn *net.TCPConn) { p.goroutines.Go(func() { e.serve(conn) }) })
	})
	return e, nil
}

// serve forwards one TCP connection until it ends.
func (e *anycastSocket) serve(conn *net.TCPConn) {
	stop := context.AfterFunc(e.plane.lifetime, func() { resetConn(conn) })
	defer stop()
	raw, done, err := e.connect(e.plane.lifetime, e.plane.clientOf(conn.RemoteAddr().(*net.TCPAddr).AddrPort()))
	if err != nil {
		resetConn(conn)
		return
	}
	defer done()
	there := raw.(*net.TCPConn)
	stopThere := context.AfterFunc(e.plane.lifetime, func() { resetConn(there) })
	defer stopThere()
	pipe(conn, there, e.plane.opt.AcceleratorIdleTimeout, func() {
		resetConn(conn)
		resetConn(there)
	})
}

// connect chooses the endpoint of a new flow and connects to it. The caller calls the returned function when the flow ends.
func (e *anycastSocket) connect(ctx context.Context, from forwardedClient) (net.Conn, func(), error) {
	view, p := e.view.Load(), e.plane
	f := anycastFlow{client: from.client, destination: e.key.at, udp: e.key.udp}
	c, ok := view.listener.chooseEndpoint(f, view.distances)
	if !ok {
		return nil, nil, errNoEndpoint
	}
	network := "tcp"
	if e.key.udp {
		network = "udp"
	}
	if c.endpoint.LoadBalancer == "" {
		return e.connectInstance(ctx, network, view, from, c)
	}
	for _, at := range view.nodes(c, f) {
		real, open := p.socketAt(at, e.key.udp)
		if !open {
			continue
		}
		o := from
		if !c.endpoint.PreserveClientIP {
			o = e.withoutClientIP(from)
		}
		source := view.sourceAddress
		if real.Addr().Is6() || !source.IsValid() {
			source = real.Addr()
		}
		return p.forwardedClients.dial(ctx, network, source, real, o)
	}
	return nil, nil, errNoEndpoint
}

// connectInstance connects to an endpoint that has an address in the emulated network: an instance or an Elastic IP address.
func (e *anycastSocket) connectInstance(ctx context.Context, network string, view *anycastView, from forwardedClient, c anycastChoice) (net.Conn, func(), error) {
	if !c.endpoint.Address.IsValid() {
		return nil, nil, errNoEndpoint
	}
	at := netip.AddrPortFrom(c.endpoint.Address, c.port)
	if real, open := e.plane.socketAt(at, e.key.udp); open {
		return e.plane.forwardedClients.dial(ctx, network, view.sourceAddress, real, e.withoutClientIP(from))
	}
	o := packetSource{node: view.sourceAddress}
	if c.endpoint.PreserveClientIP {
		o.client = from.client.Addr()
		if from.peer.Addr().IsLoopback() {
			o.localClient = from.peer.Addr()
		}
	}
	conn, err := e.plane.dialTarget(ctx, network, o, at)
	return conn, func() {}, err
}

// withoutClientIP returns the client address that an endpoint without client IP preservation sees: the static address of the
// accelerator with the client's port.
func (e *anycastSocket) withoutClientIP(from forwardedClient) forwardedClient {
	return forwardedClient{client: netip.AddrPortFrom(e.key.at.Addr(), from.client.Port())}
}

// nodes returns the addresses of the load balancer nodes of endpoint c, in the order in which flow f tries them. Nodes in
// zones without healthy targets come last.
func (v *anycastView) nodes(c anycastChoice, f anycastFlow) []netip.AddrPort {
	name := v.names[strings.ToLower(c.endpoint.LoadBalancer)]
	type ranked struct {
		at        netip.AddrPort
		unhealthy bool
		lot       float64
	}
	var all []ranked
	for _, n := range name.nodes {
		address := n.vpcAddress
		if !f.client.Addr().Is4() && n.ipv6.IsValid() {
			address = n.ipv6
		}
		all = append(all, ranked{netip.AddrPortFrom(address, c.port), !name.isZoneHealthy(n.zone), hashFraction(v.listener.flowKey(f), n.zone)})
	}
	slices.SortFunc(all, func(a, b ranked) int {
		if a.unhealthy != b.unhealthy {
			if a.unhealthy {
				return 1
			}
			return -1
		}
		return cmp.Compare(a.lot, b.lot)
	})
	var out []netip.AddrPort
	for _, n := range all {
		out = append(out, n.at)
	}
	return out
}
