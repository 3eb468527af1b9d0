package dataplane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options connect the data plane to its environment. The zero value is valid.
type Options struct {
	// Health receives the results of health checks, from any goroutine and without a
	// lock held. It may call Apply, but Close waits for it.
	Health func(HealthResult)
	// Access receives an entry for each finished request. It must not block.
	Access func(AccessEntry)
	// Bind returns the local address of a listener on a VPC address. The default keeps
	// the port and uses Loopback of the address. Port 0 takes a free port, which
	// Endpoints returns.
	Bind func(netip.AddrPort) netip.AddrPort
	// Dial returns the local address of a target. The default keeps the port and uses
	// Loopback of the address.
	Dial func(netip.AddrPort) netip.AddrPort
	// Client returns the address that conditions and headers see for a TCP peer. The
	// default is the peer's address.
	Client func(netip.Addr) netip.Addr
	// Permit reports whether packets pass between two addresses of the emulated network: from a client to a listener
	// and from a node to a target. It emulates security groups. Other packets are dropped, not rejected. By default
	// all packets pass.
	Permit func(Packet) bool
	// UDPIdleTimeout is the time without packets after which a Network Load Balancer
	// ends a flow of datagrams, 120 s by default.
	UDPIdleTimeout time.Duration
	// AcceleratorIdleTimeout and AcceleratorUDPIdleTimeout are the idle timeouts of connections and UDP flows of
	// accelerators, 340 s and 30 s by default.
	AcceleratorIdleTimeout, AcceleratorUDPIdleTimeout time.Duration
	// Invoke calls a function with the event of a request and returns its response, in the formats of Lambda and
	// load balancers. Without it, requests to functions get the status 502.
	Invoke func(ctx context.Context, function string, event []byte) ([]byte, error)
	// PortOffset is added to ports that this process may not bind. Defaults
	// to 8000.
	PortOffset uint16
	// ConnectTimeout is the timeout of connections to targets, 10 s by default.
	ConnectTimeout time.Duration
	// Identity is the client for identity providers and JWKS documents. The default verifies certificates and has a
	// timeout of 10 s.
	Identity *http.Client
	// Log receives messages for the operator of the emulator. Default: nothing is
	// logged.
	Log *slog.Logger
}

// Plane is a running data plane.
type Plane struct {
	opt     Options
	life    lifetime
	secrets *secrets
	signer  *signer
	keys    *keyCache
	calls   calls
	names   atomic.Pointer[map[string]nameView]
	sockets atomic.Pointer[map[socketKey]netip.AddrPort]
	handed  handovers
	seed    maphash.Seed

	mu              sync.Mutex
	closed          bool
	groups          map[string]*targetGroup
	listenerSockets map[netip.AddrPort]*listenerSocket
	streams         map[netip.AddrPort]*stream
	listenSockets   map[listenAddress]*listenSocket
	work            sync.WaitGroup
}

// New returns a data plane that serves nothing until Apply is called.
func New(opt Options) *Plane {
	loopback := func(at netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(Loopback(at.Addr()), at.Port())
	}
	if opt.Bind == nil {
		opt.Bind = loopback
	}
	if opt.Dial == nil {
		opt.Dial = loopback
	}
	if opt.Client == nil {
		opt.Client = func(a netip.Addr) netip.Addr { return a }
	}
	if opt.Permit == nil {
		opt.Permit = func(Packet) bool { return true }
	}
	if opt.Health == nil {
		opt.Health = func(HealthResult) {}
	}
	if opt.UDPIdleTimeout == 0 {
		opt.UDPIdleTimeout = 120 * time.Second
	}
	opt.AcceleratorIdleTimeout = cmp.Or(opt.AcceleratorIdleTimeout, 340*time.Second)
	opt.AcceleratorUDPIdleTimeout = cmp.Or(opt.AcceleratorUDPIdleTimeout, 30*time.Second)
	if opt.Invoke == nil {
		opt.Invoke = func(context.Context, string, []byte) ([]byte, error) {
			return nil, errors.New("no Lambda invoker is configured")
		}
	}
	if opt.PortOffset == 0 {
		opt.PortOffset = 8000
	}
	if opt.ConnectTimeout == 0 {
		opt.ConnectTimeout = 10 * time.Second
	}
	if opt.Identity == nil {
		opt.Identity = &http.Client{Timeout: 10 * time.Second}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Plane{
		opt:             opt,
		life:            newLifetime(),
		secrets:         newSecrets(),
		signer:          newSigner(),
		keys:            newKeyCache(opt.Identity),
		groups:          map[string]*targetGroup{},
		listenerSockets: map[netip.AddrPort]*listenerSocket{},
		streams:         map[netip.AddrPort]*stream{},
		listenSockets:   map[listenAddress]*listenSocket{},
		seed:            maphash.MakeSeed(),
	}
}

// Apply makes the data plane serve a configuration. Applying the same configuration again changes nothing.
// Connections and requests that the change does not affect continue. Parts that cannot be served (a port in use, an
// invalid attribute) are omitted and listed in the error, and all other parts are served; a later Apply tries again.
func (p *Plane) Apply(cfg Config) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the data plane is closed")
	}
	errs := p.applyGroups(cfg)
	wanted, compileErrs := p.compile(cfg)
	errs = append(errs, compileErrs...)
	p.superviseChecks(cfg)
	p.applyNames(cfg)

	for at, f := range p.listenerSockets {
		if r, keep := wanted[at]; !keep || r.lb.network {
			delete(p.listenerSockets, at)
			f.close(&p.work)
		}
	}
	for at, s := range p.streams {
		if r, keep := wanted[at]; !keep || !r.lb.network {
			delete(p.streams, at)
			s.close()
		}
	}
	for _, at := range sortedAddrPorts(wanted) {
		if wanted[at].lb.network {
			if err := p.applyStream(at, wanted[at]); err != nil {
				errs = append(errs, fmt.Errorf("listener %s: %w", wanted[at].listener.arn, err))
			}
			continue
		}
		if f, ok := p.listenerSockets[at]; ok {
			f.setRoute(wanted[at])
			continue
		}
		f, err := p.open(at, wanted[at])
		if err != nil {
			errs = append(errs, fmt.Errorf("listener %s: %w", wanted[at].listener.arn, err))
			continue
		}
		p.listenerSockets[at] = f
	}
	p.publishSockets()
	return errors.Join(append(errs, acceleratorSockets{p}.applyAccelerators(cfg)...)...)
}

// Endpoint is the local address of a listener of a node.
type Endpoint struct {
	LoadBalancer string // ARN
	Listener     string // ARN
	Zone         string
	// Node is the VPC address and the listener's port.
	Node netip.AddrPort
	// Real is the address of the socket.
	Real netip.AddrPort
	// UDP is set for a UDP socket; otherwise the protocol is TCP.
	UDP bool
}

// Endpoints lists the open listeners, ordered by node address and port.
func (p *Plane) Endpoints() []Endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Endpoint
	for _, at := range sortedAddrPorts(p.listenerSockets) {
		all = append(all, p.listenerSockets[at].route.Load().endpoint(at, p.listenerSockets[at].real))
	}
	for _, at := range sortedAddrPorts(p.streams) {
		all = append(all, p.streams[at].endpoints(at)...)
	}
	slices.SortStableFunc(all, func(a, b Endpoint) int { return a.Node.Compare(b.Node) })
	return all
}

func (r *route) endpoint(at, real netip.AddrPort) Endpoint {
	return Endpoint{LoadBalancer: r.lb.arn, Listener: r.listener.arn, Zone: r.zone, Node: at, Real: real}
}

// socketKey is a listener on a node's address, for connections or for datagrams.
type socketKey struct {
	at  netip.AddrPort
	udp bool
}

// publishSockets records the local addresses of listeners, for connections from one
// load balancer to another and from accelerators.
func (p *Plane) publishSockets() {
	sockets := make(map[socketKey]netip.AddrPort, len(p.listenerSockets)+len(p.streams))
	for at, f := range p.listenerSockets {
		sockets[socketKey{at, false}] = f.real
	}
	for at, s := range p.streams {
		for _, e := range s.endpoints(at) {
			sockets[socketKey{at, e.UDP}] = e.Real
		}
	}
	p.sockets.Store(&sockets)
}

// socketAt returns the local address of a load balancer's listener.
func (p *Plane) socketAt(at netip.AddrPort, udp bool) (real netip.AddrPort, open bool) {
	if sockets := p.sockets.Load(); sockets != nil {
		real, open = (*sockets)[socketKey{at, udp}]
	}
	return real, open
}

// realAddress returns the address on this machine for an address of the emulated network.
func (p *Plane) realAddress(at netip.AddrPort, udp bool) netip.AddrPort {
	if real, ok := p.socketAt(at, udp); ok {
		return real
	}
	return p.opt.Dial(at)
}

// Close ends all connections, requests and health checks. After it returns, no listener is open and Options.Health
// is not called.
func (p *Plane) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.life.end()
	p.calls.cancel(errClosed, nil)
	for _, f := range p.listenerSockets {
		f.close(&p.work)
	}
	for _, s := range p.streams {
		s.close()
	}
	for _, e := range p.listenSockets {
		e.stop()
	}
	for _, g := range p.groups {
		g.close()
	}
	p.mu.Unlock()
	p.work.Wait()
}

func sortedAddrPorts[V any](m map[netip.AddrPort]V) []netip.AddrPort {
	keys := make([]netip.AddrPort, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, netip.AddrPort.Compare)
	return keys
}
