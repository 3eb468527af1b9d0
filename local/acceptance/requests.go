package acceptance

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// reply is the response to a request.
type reply struct {
	status      int
	location    string
	body        string
	pod         string // name of the pod that responded
	certificate string // serial number of the server's certificate
}

func (r reply) String() string {
	text := fmt.Sprint(r.status)
	if r.location != "" {
		text += " to " + r.location
	}
	if r.pod != "" {
		text += " from pod " + r.pod
	}
	return text
}

// requester sends requests to load balancers. resolver is Options.Resolver.
type requester struct{ resolver string }

// request sends a GET request for a URL to the load balancer with the DNS name balancer, not to the host of the
// URL. roots are the trusted CAs for HTTPS.
func (a requester) request(ctx context.Context, balancer, url string, roots *x509.CertPool) (reply, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return a.dial(ctx, network, balancer, port)
		},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 15 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return reply{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return reply{}, err
	}
	out := reply{status: res.StatusCode, location: res.Header.Get("Location"), body: string(body)}
	if res.TLS != nil && len(res.TLS.PeerCertificates) > 0 {
		out.certificate = res.TLS.PeerCertificates[0].SerialNumber.String()
	}
	var echo struct{ Pod string }
	if json.Unmarshal(body, &echo) == nil {
		out.pod = echo.Pod
	}
	return out, nil
}

// dial connects to a load balancer by its DNS name. In a local world, addresses of the VPC are mapped to loopback
// addresses.
func (a requester) dial(ctx context.Context, network, balancer, port string) (net.Conn, error) {
	resolver := net.DefaultResolver
	if a.resolver != "" {
		resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, a.resolver)
		}}
	}
	addresses, err := resolver.LookupNetIP(ctx, "ip4", strings.TrimSuffix(balancer, ".")+".")
	if err != nil {
		return nil, err
	}
	last := errors.New("the name has no address")
	for _, ip := range addresses {
		to := net.JoinHostPort(ip.Unmap().String(), port)
		if at, err := netip.ParseAddrPort(a.resolver); err == nil && at.Addr().IsLoopback() {
			to = loopback.TargetAddrPort(netip.MustParseAddrPort(to)).String()
		}
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, to)
		if err == nil {
			return c, nil
		}
		last = err
	}
	return nil, last
}

// awaitResponses waits until five responses in a row pass check.
func (r *partRun) awaitResponses(ctx context.Context, balancer, url string, roots *x509.CertPool, check func(reply) error) error {
	return r.awaitSuccess(ctx, url+" answers through "+balancer, func(ctx context.Context) error {
		for range 5 {
			got, err := r.requester.request(ctx, balancer, url, roots)
			if err != nil {
				return err
			}
			if err := check(got); err != nil {
				return fmt.Errorf("the response is %s: %w", got, err)
			}
		}
		return nil
	})
}

// checkPodResponse returns an error unless a pod has responded with 200.
func checkPodResponse(r reply) error {
	if r.status != http.StatusOK || r.pod == "" {
		return errors.New("want 200 from a pod")
	}
	return nil
}

// traffic sends four requests per second and counts those without a response from a pod. Its counters are valid after
// end.
type traffic struct {
	stop func()
	done sync.WaitGroup

	sent, failed int
	firstFailure string // empty if all requests succeeded
}

func (a requester) startTraffic(ctx context.Context, balancer, url string, roots *x509.CertPool) *traffic {
	t := &traffic{}
	ctx, t.stop = context.WithCancel(ctx)
	t.done.Go(func() {
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			got, err := a.request(ctx, balancer, url, roots)
			if err == nil {
				err = checkPodResponse(got)
			}
			if ctx.Err() != nil {
				return
			}
			t.sent++
			if err != nil {
				t.failed++
				t.firstFailure = cmp.Or(t.firstFailure, fmt.Sprintf("%v (%s)", err, got))
			}
		}
	})
	return t
}

// finish stops the requests. It returns an error if no request was sent or a request failed.
func (t *traffic) finish() (note string, err error) {
	t.stop()
	t.done.Wait()
	if t.failed > 0 || t.sent == 0 {
		return "", fmt.Errorf("%d of %d requests failed, the first one: %s", t.failed, t.sent, t.firstFailure)
	}
	return fmt.Sprintf("%d requests meanwhile, none failed", t.sent), nil
}
