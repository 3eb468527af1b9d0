package dataplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// codeMatcher is a set of ranges of status codes.
type codeMatcher [][2]int

// parseCodeMatcher parses a matcher such as "200", "200,202" or "200-299".
func parseCodeMatcher(s string) (codeMatcher, error) {
	var m codeMatcher
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil || a > b {
			return nil, fmt.Errorf("health check matcher %q is not a list of codes", s)
		}
		m = append(m, [2]int{a, b})
	}
	return m, nil
}

func (m codeMatcher) has(code int) bool {
	for _, r := range m {
		if r[0] <= code && code <= r[1] {
			return true
		}
	}
	return false
}

// probe checks the health of the target once, on a new connection.
func (c *checker) probe(v *targetGroupView) probeResult {
	h := v.cfg.HealthCheck
	ctx, cancel := context.WithTimeout(c.lifetime, h.Timeout)
	defer cancel()
	if h.Protocol == TCP {
		if c.checkTCP(ctx, v) == nil {
			return probeResult{}
		}
		return probeResult{"Target.FailedHealthChecks", "Health checks failed"}
	}
	code, err := c.requestStatus(ctx, v)
	var netErr net.Error
	switch {
	case err == nil && v.matcher.has(code):
		return probeResult{}
	case c.source.isNetwork: // Network Load Balancers and accelerators report no details
		return probeResult{"Target.FailedHealthChecks", "Health checks failed"}
	case err == nil:
		return probeResult{"Target.ResponseCodeMismatch", fmt.Sprintf("Health checks failed with these codes: [%d]", code)}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return probeResult{"Target.Timeout", "Request timed out"}
	default:
		return probeResult{"Target.FailedHealthChecks", "Health checks failed"}
	}
}

// nextAddress returns the address to probe. If the target is an Application Load Balancer, it returns the addresses of
// the nodes by round-robin.
func (c *checker) nextAddress(h HealthCheck) netip.AddrPort {
	at := c.target.addr
	if n := len(c.target.nodes); n > 0 {
		at = netip.AddrPortFrom(c.target.nodes[c.probeCount%n].Address, at.Port())
		c.probeCount++
	}
	if h.Port != 0 {
		at = netip.AddrPortFrom(at.Addr(), h.Port)
	}
	return at
}

// dial connects to the target at address "at". It sends a proxy protocol header if the target group uses the proxy protocol.
func (c *checker) dial(ctx context.Context, v *targetGroupView, at netip.AddrPort) (net.Conn, error) {
	conn, err := c.plane.dialTarget(ctx, "tcp", packetSource{node: c.source.node.Addr()}, at)
	if err != nil || !v.attr.proxyProtocol {
		return conn, err
	}
	if _, err := conn.Write(proxyLocalHeader()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// checkTCP performs a TCP health check. It returns an error if it cannot connect.
func (c *checker) checkTCP(ctx context.Context, v *targetGroupView) error {
	conn, err := c.dial(ctx, v, c.nextAddress(v.cfg.HealthCheck))
	if err != nil {
		return err
	}
	return conn.Close()
}

// requestStatus sends the request of a health check and returns the code that the matcher compares: the HTTP status or, for
// gRPC, the gRPC status.
func (c *checker) requestStatus(ctx context.Context, v *targetGroupView) (int, error) {
	tg, h := v.cfg, v.cfg.HealthCheck
	at := c.nextAddress(h)
	version := tg.ProtocolVersion
	secure := targetTLSConfig()
	if c.source.isNetwork {
		secure.MaxVersion = tls.VersionTLS12 // health checks of targets that accept only TLS 1.3 fail
	}
	tr := &http.Transport{
		Protocols:          transportProtocols(h.Protocol, version),
		TLSClientConfig:    secure,
		DisableCompression: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.dial(ctx, v, at)
		},
	}
	defer tr.CloseIdleConnections()
	method, body := http.MethodGet, io.Reader(nil)
	if version == GRPC {
		// The body is an empty gRPC message: not compressed, length 0.
		method, body = http.MethodPost, bytes.NewReader(make([]byte, 5))
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.ToLower(string(h.Protocol))+"://"+at.String()+h.Path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("User-Agent", "ELB-HealthChecker/2.0")
	if c.source.isNetwork {
		req.Host = c.source.node.String()
	}
	if version == GRPC {
		req.Header.Set("Content-Type", "application/grpc")
		req.Header.Set("Te", "trailers")
	} else if version != HTTP2 {
		req.Close = true
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if version != GRPC {
		return resp.StatusCode, nil
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return 0, err
	}
	status := resp.Trailer.Get("Grpc-Status")
	if status == "" {
		status = resp.Header.Get("Grpc-Status")
	}
	code, err := strconv.Atoi(status)
	if err != nil {
		return 0, fmt.Errorf("HTTP status %d without a gRPC status", resp.StatusCode)
	}
	return code, nil
}

// targetTLSConfig returns a configuration that accepts any certificate, because load balancers do not verify targets.
func targetTLSConfig() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10}
}
