package dataplane

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"
)

func TestForbiddenPacketsAreDropped(t *testing.T) {
	b := startBackend(t, "b")
	node := netip.MustParseAddr("10.250.1.5")
	var got healthResults
	p := startPlane(t, func(o *Options) {
		o.ReportHealth = got.add
		o.ConnectTimeout = brief
		o.ClientAddress = func(netip.Addr) netip.Addr { return netip.MustParseAddr("203.0.113.9") }
		o.IsPermitted = func(pk Packet) bool {
			if pk.Source == node {
				return pk.Destination != b.addr
			}
			return pk.Source == netip.MustParseAddr("203.0.113.9") && pk.Destination == netip.AddrPortFrom(node, 80)
		}
	})
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", b))
	cfg.TargetGroups[0].HealthCheck.Timeout = brief
	cfg.LoadBalancers[0].Listeners = append(cfg.LoadBalancers[0].Listeners,
		Listener{ARN: "closed", Port: 81, Protocol: HTTP, DefaultRule: Rule{Action: FixedResponse{Status: 200}}})
	apply(t, p, cfg)
	eventually(t, "unhealthy", func() bool { return len(got.list()) == 1 })
	if r := got.list()[0]; r.State != StateUnhealthy || r.Reason != "Target.Timeout" {
		t.Errorf("verdict %+v", r)
	}
	if r := get(t, p, "x", "/"); r.StatusCode != 504 {
		t.Errorf("target out of reach: want 504, got %d", r.StatusCode)
	}

	conn, err := net.Dial("tcp", p.Endpoints()[1].LocalAddress.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(brief))
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a client that is not permitted should hear nothing, got %v", err)
	}
}
