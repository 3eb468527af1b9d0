package world

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// LoadBalancer is a load balancer in AWS, with the data that its clients need.
type LoadBalancer struct {
	ARN, Name, DNSName, Scheme, State string
	Listeners                         []Listener
	Rules                             []Rule // sorted by port, then in order of precedence
}

// Rule describes the conditions and the action of a listener rule.
type Rule struct {
	Port         int
	Hosts, Paths []string // patterns of the host and path conditions, with the wildcards of AWS
	Other        bool     // the rule has regular expressions, or conditions of other kinds
	Action       string   // type of the last action, such as "forward"
	GRPC         bool     // the target group has protocol version GRPC
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol string
	Port     int
	// TCPAddresses are the addresses on this machine, one for each Availability Zone. Their port differs from Port if this
	// user may not open Port.
	TCPAddresses []netip.AddrPort
	// UDPAddresses are the corresponding addresses for UDP.
	UDPAddresses []netip.AddrPort
}

// AWSConfig returns the configuration for SDK clients of this local world's AWS, in its region.
func (w *World) AWSConfig() aws.Config {
	return awsclient.Config(w.AWSEndpoint(), w.layout.Region)
}

// LoadBalancers lists the load balancers in the region of the local world, sorted by name, with the addresses on
// which they listen.
func (w *World) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	served, err := w.emulatedLoadBalancers(ctx)
	if err != nil {
		return nil, err
	}
	var out []LoadBalancer
	for _, s := range served {
		if at, err := arn.Parse(s.ARN); err != nil || at.Region != w.layout.Region {
			continue
		}
		lb := LoadBalancer{ARN: s.ARN, Name: s.Name, DNSName: s.DNSName, Scheme: s.Scheme, State: s.State, Rules: s.Rules}
		byPort := map[int]*Listener{}
		for _, e := range s.Endpoints {
			port := int(e.Node.Port())
			if byPort[port] == nil {
				byPort[port] = &Listener{Protocol: e.Protocol, Port: port}
			}
			if e.UDP {
				byPort[port].UDPAddresses = append(byPort[port].UDPAddresses, e.Address)
			} else {
				byPort[port].TCPAddresses = append(byPort[port].TCPAddresses, e.Address)
			}
		}
		for _, port := range slices.Sorted(maps.Keys(byPort)) {
			lb.Listeners = append(lb.Listeners, *byPort[port])
		}
		out = append(out, lb)
	}
	slices.SortFunc(out, func(a, b LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// emulatedLoadBalancer is a load balancer as the emulator's admin API returns it.
type emulatedLoadBalancer struct {
	ARN, Name, DNSName, Scheme, State string
	Endpoints                         []struct {
		Protocol      string
		Node, Address netip.AddrPort
		UDP           bool
	}
	Rules []Rule
}

func (w *World) emulatedLoadBalancers(ctx context.Context) (out []emulatedLoadBalancer, err error) {
	return out, readEmulatorAdminAPI(ctx, w, "loadbalancers", &out)
}

// readEmulatorAdminAPI reads the JSON document at path what of the emulator's admin API into out.
func readEmulatorAdminAPI(ctx context.Context, w *World, what string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.AWSEndpoint()+"/_fulcrum/"+what, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("list %s: %s", what, res.Status)
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("list %s: %w", what, err)
	}
	return nil
}

// emulatedAccelerator is an accelerator as the emulator's admin API returns it.
type emulatedAccelerator struct {
	Sockets []struct {
		Static, Real netip.AddrPort
		UDP          bool
	} `json:"Entrances"`
}

// remappedEndpoint returns the host:port on this machine at which a node of a load balancer, or an accelerator, listens for
// a port. node is its loopback address. It returns false if the listener has the same port on this machine. The port differs
// if the user may not open it.
func (w *World) remappedEndpoint(ctx context.Context, node netip.Addr, port string, udp bool) (string, bool) {
	served, err := w.emulatedLoadBalancers(ctx)
	if err != nil {
		return "", false
	}
	for _, s := range served {
		for _, e := range s.Endpoints {
			if e.UDP == udp && loopback.Addr(e.Node.Addr()) == node && fmt.Sprint(e.Node.Port()) == port && e.Address.Port() != e.Node.Port() {
				return e.Address.String(), true
			}
		}
	}
	var accelerators []emulatedAccelerator
	if readEmulatorAdminAPI(ctx, w, "accelerators", &accelerators) != nil {
		return "", false
	}
	for _, a := range accelerators {
		for _, e := range a.Sockets {
			if e.UDP == udp && e.Real.Addr() == node && fmt.Sprint(e.Static.Port()) == port && e.Real.Port() != e.Static.Port() {
				return e.Real.String(), true
			}
		}
	}
	return "", false
}

// lookupAttempts is the maximum number of attempts to resolve a name, because a busy machine may drop datagrams.
const lookupAttempts = 3

// Lookup resolves a DNS name with the resolver of the local world, and returns the corresponding loopback addresses, sorted.
func (w *World) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	r := net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.ResolverAddress())
		},
	}
	var addrs []netip.Addr
	var err error
	for range lookupAttempts {
		// The final dot disables the DNS search list of this machine.
		addrs, err = r.LookupNetIP(ctx, "ip4", strings.TrimSuffix(name, ".")+".")
		if timeout, ok := errors.AsType[*net.DNSError](err); !ok || !timeout.IsTimeout {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		addrs[i] = loopback.Addr(a.Unmap())
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs, nil
}

// HTTPClient returns a client for requests to load balancers. It resolves their names, trusts the CA of the local world and
// does not follow redirects. It opens a new connection for each request, so each request may reach another node and pod.
//
// If to is not empty, the client sends every request to the load balancer with the DNS name to, whatever the host in the
// URL.
func (w *World) HTTPClient(to string) *http.Client {
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext:       w.Dialer(to),
			DisableKeepAlives: true,
			ForceAttemptHTTP2: true, // over TLS, as browsers do
			TLSClientConfig:   &tls.Config{RootCAs: w.RootCAs()},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RootCAs returns a pool with the CA of the local world, which signs the certificates of load balancers.
func (w *World) RootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.creds.caPEM)
	return pool
}

// Dialer returns a function that opens a connection to a load balancer. address is host:port with the name of the load
// balancer. If to is not empty, it replaces the host, as in HTTPClient.
func (w *World) Dialer(to string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addrs, err := w.Lookup(ctx, cmp.Or(to, host))
		if err != nil {
			return nil, fmt.Errorf("resolve %s: %w", cmp.Or(to, host), err)
		}
		var d net.Dialer
		var last error
		udp := strings.HasPrefix(network, "udp")
		for _, a := range addrs {
			if udp && isRemappedPort(port) { // a dial to a closed UDP port does not fail
				if endpoint, ok := w.remappedEndpoint(ctx, a, port, udp); ok {
					return d.DialContext(ctx, network, endpoint)
				}
			}
			c, err := d.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
			if err == nil {
				return c, nil
			}
			last = err
			if endpoint, ok := w.remappedEndpoint(ctx, a, port, udp); ok {
				if c, err = d.DialContext(ctx, network, endpoint); err == nil {
					return c, nil
				}
			}
		}
		return nil, last
	}
}

// isRemappedPort reports whether load balancers listen on another port of this machine, because this user may not open port.
func isRemappedPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && loopback.Port(n) != n
}
