package world

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// LoadBalancer is one that exists in AWS, as somebody sees it who wants to
// send it a request.
type LoadBalancer struct {
	ARN, Name, DNSName, Scheme, State string
	// Addresses are where it listens on this machine.
	Addresses []netip.Addr
	Listeners []Listener
}

// Listener is one port of a load balancer.
type Listener struct {
	Protocol string
	Port     int
}

// AWSConfig is what SDK clients for this world are made from.
func (w *World) AWSConfig() aws.Config {
	return awsclient.Config(w.AWSEndpoint(), w.layout.Region)
}

// LoadBalancers lists the load balancers by name.
func (w *World) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	client := elb.NewFromConfig(w.AWSConfig())
	var out []LoadBalancer
	pages := elb.NewDescribeLoadBalancersPaginator(client, &elb.DescribeLoadBalancersInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, l := range page.LoadBalancers {
			lb := LoadBalancer{
				ARN:     aws.ToString(l.LoadBalancerArn),
				Name:    aws.ToString(l.LoadBalancerName),
				DNSName: aws.ToString(l.DNSName),
				Scheme:  string(l.Scheme),
			}
			if l.State != nil {
				lb.State = string(l.State.Code)
			}
			// A name that does not resolve yet is no reason to hide the rest.
			lb.Addresses, _ = w.Lookup(ctx, lb.DNSName)
			listeners, err := client.DescribeListeners(ctx, &elb.DescribeListenersInput{LoadBalancerArn: l.LoadBalancerArn})
			if err != nil {
				return nil, err
			}
			for _, li := range listeners.Listeners {
				lb.Listeners = append(lb.Listeners, Listener{Protocol: string(li.Protocol), Port: int(aws.ToInt32(li.Port))})
			}
			slices.SortFunc(lb.Listeners, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
			out = append(out, lb)
		}
	}
	slices.SortFunc(out, func(a, b LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
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

// HTTPClient makes a client for requests to load balancers: it resolves their
// names, trusts the world's CA, follows no redirects, and opens a connection
// for each request, so that none sticks to a pod or node.
//
// to, if not empty, is the name of the load balancer that every request goes
// to whatever its host, as a DNS record for the host would have it.
func (w *World) HTTPClient(to string) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.creds.caPEM)
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
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
		for _, a := range addrs {
			c, err := d.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
			if err == nil {
				return c, nil
			}
			last = err
		}
		return nil, last
	}
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext:       dial,
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: pool},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
