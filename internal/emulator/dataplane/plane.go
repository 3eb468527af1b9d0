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

// Options configure the data plane and connect it to its environment. The zero value is valid.
type Options struct {
	// ReportHealth receives the results of health checks. It is called from any goroutine, without a lock held. It may
	// call Apply, but not Close, because Close waits until ReportHealth returns.
	ReportHealth func(HealthResult)
	// LogAccess receives an entry for each finished request or flow. It must not block.
	LogAccess func(AccessEntry)
	// BindAddress returns the address on this machine where a listener with a VPC address is opened. The default is Loopback
	// of the VPC address, with the same port. With port 0 the listener uses a free port, which Endpoints returns.
	BindAddress func(netip.AddrPort) netip.AddrPort
	// DialAddress returns the address on this machine of a target. The default is Loopback of its address, with the same
	// port.
	DialAddress func(netip.AddrPort) netip.AddrPort
	// ClientAddress returns the client address that conditions and headers use for a TCP peer. The default is the address of
	// the peer.
	ClientAddress func(netip.Addr) netip.Addr
	// IsPermitted reports whether packets pass from a client to a listener, or from a node to a target. It emulates security
	// groups. Packets that do not pass are dropped, not rejected. By default all packets pass.
	IsPermitted func(Packet) bool
	// UDPIdleTimeout is the time without packets after which a Network Load Balancer ends a UDP flow. The default is 120 s.
	UDPIdleTimeout time.Duration
	// AcceleratorIdleTimeout and AcceleratorUDPIdleTimeout are the idle timeouts of TCP connections and UDP flows through
	// accelerators. The defaults are 340 s and 30 s.
	AcceleratorIdleTimeout, AcceleratorUDPIdleTimeout time.Duration
	// InvokeLambda invokes a Lambda function with an event and returns its response, both in AWS's JSON format. If it is
	// nil, requests to Lambda functions get the status 502.
	InvokeLambda func(ctx context.Context, function string, event []byte) ([]byte, error)
	// PortOffset is added to ports below 1024 if this process may not bind them. The default is 8000.
	PortOffset uint16
	// ConnectTimeout is the timeout of connecting to a target. The default is 10 s.
	ConnectTimeout time.Duration
	// IdentityClient is the HTTP client for identity providers and JWKS documents. The default client verifies certificates
	// and has a timeout of 10 s.
	IdentityClient *http.Client
	// Log receives messages for the operator of the emulator. By default nothing is logged.
	Log *slog.Logger
}

// Plane is a running data plane.
type Plane struct {
	opt              Options
	lifetime         lifetime
	cookieCipher     *cookieCipher
	signer           *signer
	keys             *keyCache
	calls            calls
	names            atomic.Pointer[map[string]dnsNameView]
	sockets          atomic.Pointer[map[socketKey]netip.AddrPort]
	forwardedClients forwardedClients
	hashSeed         maphash.Seed

	mu               sync.Mutex
	closed           bool
	targetGroups     map[string]*targetGroup
	listenerSockets  map[netip.AddrPort]*listenerSocket
	networkListeners map[netip.AddrPort]*networkListener
	anycastSockets   map[anycastListenAddress]*anycastSocket
	goroutines       sync.WaitGroup
}

// New returns a data plane that serves nothing until Apply is called.
func New(opt Options) *Plane {
	loopback := func(at netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(Loopback(at.Addr()), at.Port())
	}
	if opt.BindAddress == nil {
		opt.BindAddress = loopback
	}
	if opt.DialAddress == nil {
		opt.DialAddress = loopback
	}
	if opt.ClientAddress == nil {
		opt.ClientAddress = func(a netip.Addr) netip.Addr { return a }
	}
	if opt.IsPermitted == nil {
		opt.IsPermitted = func(Packet) bool { return true }
	}
	if opt.ReportHealth == nil {
		opt.ReportHealth = func(HealthResult) {}
	}
	if opt.UDPIdleTimeout == 0 {
		opt.UDPIdleTimeout = 120 * time.Second
	}
	opt.AcceleratorIdleTimeout = cmp.Or(opt.AcceleratorIdleTimeout, 340*time.Second)
	opt.AcceleratorUDPIdleTimeout = cmp.Or(opt.AcceleratorUDPIdleTimeout, 30*time.Second)
	if opt.InvokeLambda == nil {
		opt.InvokeLambda = func(context.Context, string, []byte) ([]byte, error) {
			return nil, errors.New("no Lambda invoker is configured")
		}
	}
	if opt.PortOffset == 0 {
		opt.PortOffset = 8000
	}
	if opt.ConnectTimeout == 0 {
		opt.ConnectTimeout = 10 * time.Second
	}
	if opt.IdentityClient == nil {
		opt.IdentityClient = &http.Client{Timeout: 10 * time.Second}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Plane{
		opt:              opt,
		lifetime:         newLifetime(),
		cookieCipher:     newCookieCipher(),
		signer:           newSigner(),
		keys:             newKeyCache(opt.IdentityClient),
		targetGroups:     map[string]*targetGroup{},
		listenerSockets:  map[netip.AddrPort]*listenerSocket{},
		networkListeners: map[netip.AddrPort]*networkListener{},
		anycastSockets:   map[anycastListenAddress]*anycastSocket{},
		hashSeed:         maphash.MakeSeed(),
	}
}

// Apply makes the data plane serve a configuration. Applying the same configuration again changes nothing. Connections and
// requests that the change does not affect continue. Parts that cannot be served (a port in use, an invalid attribute) are
// omitted, and the error lists them. All other parts are applied. A later Apply tries the omitted parts again.
func (p *Plane) Apply(cfg Config) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the data plane is closed")
	}
	errs := p.applyTargetGroups(cfg)
	wanted, compileErrs := p.compile(cfg)
	errs = append(errs, compileErrs...)
	p.superviseChecks(cfg)
	p.applyNames(cfg)

	for at, f := range p.listenerSockets {
		if r, keep := wanted[at]; !keep || r.lb.isNetwork {
			delete(p.listenerSockets, at)
			f.close(&p.goroutines)
		}
	}
	for at, s := range p.networkListeners {
		if r, keep := wanted[at]; !keep || !r.lb.isNetwork {
			delete(p.networkListeners, at)
			s.close()
		}
	}
	for _, at := range sortedAddrPorts(wanted) {
		if wanted[at].lb.isNetwork {
			if err := p.applyNetworkListener(at, wanted[at]); err != nil {
				errs = append(errs, fmt.Errorf("listener %s: %w", wanted[at].listener.arn, err))
			}
			continue
		}
		if f, ok := p.listenerSockets[at]; ok {
			f.setRoute(wanted[at])
			continue
		}
		f, err := p.openListenerSocket(at, wanted[at])
		if err != nil {
			errs = append(errs, fmt.Errorf("listener %s: %w", wanted[at].listener.arn, err))
			continue
		}
		p.listenerSockets[at] = f
	}
	p.publishSockets()
	return errors.Join(append(errs, acceleratorSocketManager{p}.applyAccelerators(cfg)...)...)
}

// Endpoint is the open socket of a listener at one node address.
type Endpoint struct {
	LoadBalancer string // ARN
	Listener     string // ARN
	Zone         string
	// NodeAddress is the VPC address of the node with the port of the listener.
	NodeAddress netip.AddrPort
	// LocalAddress is the address of the socket on this machine.
	LocalAddress netip.AddrPort
	// UDP is true for a UDP socket and false for a TCP socket.
	UDP bool
}

// Endpoints lists the open sockets of listeners, ordered by node address and port.
func (p *Plane) Endpoints() []Endpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Endpoint
	for _, at := range sortedAddrPorts(p.listenerSockets) {
		all = append(all, p.listenerSockets[at].route.Load().endpoint(at, p.listenerSockets[at].localAddress))
	}
	for _, at := range sortedAddrPorts(p.networkListeners) {
		all = append(all, p.networkListeners[at].endpoints(at)...)
	}
	slices.SortStableFunc(all, func(a, b Endpoint) int { return a.NodeAddress.Compare(b.NodeAddress) })
	return all
}

func (r *route) endpoint(at, real netip.AddrPort) Endpoint {
	return Endpoint{LoadBalancer: r.lb.arn, Listener: r.listener.arn, Zone: r.zone, NodeAddress: at, LocalAddress: real}
}

// socketKey identifies a socket by the address of a node, the port of a listener, and TCP or UDP.
type socketKey struct {
	at  netip.AddrPort
	udp bool
}

// publishSockets publishes the local addresses of all listeners. Load balancers and accelerators use them to connect to load
// balancers.
func (p *Plane) publishSockets() {
	sockets := make(map[socketKey]netip.AddrPort, len(p.listenerSockets)+len(p.networkListeners))
	for at, f := range p.listenerSockets {
		sockets[socketKey{at, false}] = f.localAddress
	}
	for at, s := range p.networkListeners {
		for _, e := range s.endpoints(at) {
			sockets[socketKey{at, e.UDP}] = e.LocalAddress
		}
	}
	p.sockets.Store(&sockets)
}

// socketAt returns the local address of the load balancer listener at an address in the emulated network. open is false if
// there is none.
func (p *Plane) socketAt(at netip.AddrPort, udp bool) (real netip.AddrPort, open bool) {
	if sockets := p.sockets.Load(); sockets != nil {
		real, open = (*sockets)[socketKey{at, udp}]
	}
	return real, open
}

// realAddress returns the address on this machine for an address in the emulated network.
func (p *Plane) realAddress(at netip.AddrPort, udp bool) netip.AddrPort {
	if real, ok := p.socketAt(at, udp); ok {
		return real
	}
	return p.opt.DialAddress(at)
}

// Close ends all connections, requests and health checks. After it has returned, no listener is open and
// Options.ReportHealth is not called.
func (p *Plane) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	p.lifetime.end()
	p.calls.cancel(errPlaneClosed, nil)
	for _, f := range p.listenerSockets {
		f.close(&p.goroutines)
	}
	for _, s := range p.networkListeners {
		s.close()
	}
	for _, e := range p.anycastSockets {
		e.stopAccepting()
	}
	for _, g := range p.targetGroups {
		g.close()
	}
	p.mu.Unlock()
	p.goroutines.Wait()
}

func sortedAddrPorts[V any](m map[netip.AddrPort]V) []netip.AddrPort {
	keys := make([]netip.AddrPort, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, netip.AddrPort.Compare)
	return keys
}
