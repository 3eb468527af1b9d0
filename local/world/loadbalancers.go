package world

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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

// LoadBalancer is one that exists in AWS, with what its clients need.
type LoadBalancer struct {
	ARN, Name, DNSName, Scheme, State string
	Listeners                         []Listener
	Rules                             []Rule // by port, in order of precedence
}

// Rule is what a request has to be like for a rule of a listener.
type Rule struct {
	Port         int
	Hosts, Paths []string // as patterns of AWS
	Other        bool     // there are other conditions too
	Action       string   // such as forward
	GRPC         bool     // gRPC is forwarded
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol string
	Port     int
	// Real are where it listens on this machine, one for each zone. The port
	// differs from Port where this user may not open that one.
	Real []netip.AddrPort
	// Datagrams are the same for datagrams.
	Datagrams []netip.AddrPort
}

// AWSConfig is what SDK clients for this world are made from.
func (w *World) AWSConfig() aws.Config {
	return awsclient.Config(w.AWSEndpoint(), w.layout.Region)
}

// LoadBalancers lists the load balancers of the world's region by name, with what really listens.
func (w *World) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	served, err := w.served(ctx)
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
				byPort[port].Datagrams = append(byPort[port].Datagrams, e.Address)
			} else {
				byPort[port].Real = append(byPort[port].Real, e.Address)
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

// servedBalancer is a load balancer in the emulator's admin API.
type servedBalancer struct {
	ARN, Name, DNSName, Scheme, State string
	Endpoints                         []struct {
		Protocol      string
		Node, Address netip.AddrPort
		UDP           bool
	}
	Rules []Rule
}

func (w *World) served(ctx context.Context) (out []servedBalancer, err error) {
	return out, askEmulator(ctx, w, "loadbalancers", &out)
}

// askEmulator reads from its admin API.
func askEmulator(ctx context.Context, w *World, what string, out any) error {
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

// servedAccelerator is an accelerator in the emulator's admin API.
type servedAccelerator struct {
	Entrances []struct {
		Static, Real netip.AddrPort
		UDP          bool
	}
}

// realEndpoint finds where a port of a load balancer's node or of an accelerator listens, if it
// is not at its name and port.
func (w *World) realEndpoint(ctx context.Context, node netip.Addr, port string, udp bool) (string, bool) {
	served, err := w.served(ctx)
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
	var accelerators []servedAccelerator
	if askEmulator(ctx, w, "accelerators", &accelerators) != nil {
		return "", false
	}
	for _, a := range accelerators {
		for _, e := range a.Entrances {
			if e.UDP == udp && e.Real.Addr() == node && fmt.Sprint(e.Static.Port()) == port && e.Real.Port() != e.Static.Port() {
				return e.Real.String(), true
			}
		}
	}
	return "", false
}

// Lookup asks the world's resolver for the addresses of a name.
func (w *World) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	r := net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, w.Resolver())
		},
	}
	// A final dot keeps the search list of this machine out of it.
	addrs, err := r.LookupNetIP(ctx, "ip4", strings.TrimSuffix(name, ".")+".")
	if err != nil {
		return nil, err
	}
	for i, a := range addrs {
		addrs[i] = loopback.Addr(a.Unmap())
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	return addrs, nil
}

// HTTPClient makes a client for requests to load balancers: it resolves their names,
// trusts the world's CA, follows no redirects, and opens a connection for each request,
// so that no request is bound to a pod or node.
//
// to, if not empty, is the name of the load balancer that every request goes
// to whatever its host, as a DNS record for the host would have it.
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

// RootCAs trusts the certificates of load balancers.
func (w *World) RootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.creds.caPEM)
	return pool
}

// Dialer opens connections to load balancers by name. to is as in HTTPClient.
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
			if udp && shifted(port) { // a wrong port would not be noticed
				if real, ok := w.realEndpoint(ctx, a, port, udp); ok {
					return d.DialContext(ctx, network, real)
				}
			}
			c, err := d.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
			if err == nil {
				return c, nil
			}
			last = err
			if real, ok := w.realEndpoint(ctx, a, port, udp); ok {
				if c, err = d.DialContext(ctx, network, real); err == nil {
					return c, nil
				}
			}
		}
		return nil, last
	}
}

// shifted reports whether this user may not open a port, so that load balancers
// listen at another.
func shifted(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && loopback.Port(n) != n
}
