package dataplane

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNetworkHealthChecks(t *testing.T) {
	a := startTCPTarget(t, "a", "127.0.0.1")
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	g := streamTargetGroup("g", TCP, a)
	g.Attributes["target_health_state.unhealthy.connection_termination.enabled"] = "true"
	g.HealthCheck = HealthCheck{Interval: 50 * time.Millisecond, Timeout: conditionTimeout, HealthyThreshold: 3, UnhealthyThreshold: 2}
	g.Targets[0].State = StateInitial
	web := startBackend(t, "web", func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			if r.Host != "10.250.1.5:80" || r.URL.Path != "/ready" {
				t.Errorf("health check of %s%s", r.Host, r.URL.Path)
			}
			w.WriteHeader(404)
		}
	})
	h := streamTargetGroup("h", TCP)
	h.Targets = []Target{web.target()}
	h.Targets[0].State = StateInitial
	h.HealthCheck = HealthCheck{Protocol: HTTP, Path: "/ready", Interval: 50 * time.Millisecond, Timeout: conditionTimeout, UnhealthyThreshold: 2}
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{"g", 1}, {"h", 0}}}}}, g, h))
	eventually(t, "two verdicts", func() bool { return len(got.list()) == 2 })
	verdicts := map[string]string{}
	for _, r := range got.list() {
		verdicts[r.TargetGroup] = fmt.Sprintf("%s %s", r.State, r.Reason)
	}
	if d := cmp.Diff(map[string]string{"g": "healthy ", "h": "unhealthy Target.FailedHealthChecks"}, verdicts); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
	l := dialTCP(t, firstListenerAddress(t, p))
	l.readGreeting(t)
	// Health checks fail at a port where nothing listens. The target becomes unhealthy, and its connections are reset.
	g.HealthCheck.Port = 1
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: Forward{TargetGroups: []WeightedTargetGroup{{"g", 1}, {"h", 0}}}}}, g, h))
	l.checkReset(t)
	again := dialTCP(t, firstListenerAddress(t, p)) // fail open: all targets are unhealthy
	again.readGreeting(t)
}

func TestNetworkHealthChecksOverHTTPS(t *testing.T) {
	ca := newIssuer(t)
	target := func(from uint16) Target {
		ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
			Certificates: []tls.Certificate{ca.issue(t, 0, "anything")}, MinVersion: from,
		})
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.NotFoundHandler(), ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = srv.Serve(ln) }()
		t.Cleanup(func() { _ = srv.Close() })
		at := ln.Addr().(*net.TCPAddr).AddrPort()
		return Target{ID: fmt.Sprintf("from %x", from), Address: at.Addr(), Port: at.Port(), State: StateInitial}
	}
	g := streamTargetGroup("g", TLS)
	g.Targets = []Target{target(tls.VersionTLS12), target(tls.VersionTLS13)}
	g.HealthCheck = HealthCheck{Protocol: HTTPS, Matcher: "200-499", Interval: 50 * time.Millisecond, Timeout: conditionTimeout, HealthyThreshold: 2, UnhealthyThreshold: 2}
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	apply(t, p, nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g))
	eventually(t, "two verdicts", func() bool { return len(got.list()) == 2 })
	verdicts := map[string]TargetState{}
	for _, r := range got.list() {
		verdicts[r.ID] = r.State
	}
	if d := cmp.Diff(map[string]TargetState{"from 303": StateHealthy, "from 304": StateUnhealthy}, verdicts); d != "" {
		t.Errorf("verdicts (-want +got):\n%s", d)
	}
}

func TestZonesOfNetworkLoadBalancers(t *testing.T) {
	a, b := startTCPTarget(t, "a", "127.0.0.1"), startTCPTarget(t, "b", "127.0.0.1")
	g := streamTargetGroup("g", TCP, a, b)
	g.Targets[1].Zone = "b"
	cfg := nlbConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g)
	lb := &cfg.LoadBalancers[0]
	lb.DNSName = "Net-1.elb.us-west-2.amazonaws.com"
	lb.Nodes = append(lb.Nodes, Node{Zone: "b", Address: netip.MustParseAddr("10.250.2.5")})
	p := startPlane(t)
	apply(t, p, cfg)
	resolve := func(name string) string {
		all, _ := p.Resolve(name)
		return fmt.Sprint(all)
	}
	if got := countByTarget(t, p, 20); got["b"] != 0 {
		t.Errorf("the node of zone a used %v", got)
	}
	for name, want := range map[string]string{
		"net-1.elb.us-west-2.amazonaws.com":   "[127.250.1.5 127.250.2.5]",
		"b.net-1.elb.us-west-2.amazonaws.com": "[127.250.2.5]",
	} {
		if got := resolve(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	lb.Attributes = map[string]string{"load_balancing.cross_zone.enabled": "true"}
	apply(t, p, cfg)
	if got := countByTarget(t, p, 60); len(got) != 2 {
		t.Errorf("across zones the node used %v", got)
	}
	lb.Attributes = nil
	cfg.TargetGroups[0].Targets = cfg.TargetGroups[0].Targets[1:]
	apply(t, p, cfg)
	checkNewConnectionIsReset(t, firstListenerAddress(t, p))
	if got := resolve("net-1.elb.us-west-2.amazonaws.com"); got != "[127.250.2.5]" {
		t.Errorf("with targets in zone b alone the name is %s", got)
	}
}

func TestFlowCandidatesDependOnHealthAndZone(t *testing.T) {
	at := receivingNode{zone: "a"}
	one := func(zone string, s TargetState) member {
		return member{target: &target{state: s}, zone: zone, configuredState: s}
	}
	with := func(attr tgAttributes, members ...member) *targetGroupView {
		return &targetGroupView{attr: attr, members: members}
	}
	for name, tt := range map[string]struct {
		view *targetGroupView
		want int
	}{
		"healthy ones of the zone":     {with(tgAttributes{}, one("a", StateHealthy), one("a", StateUnhealthy), one("b", StateHealthy)), 1},
		"all of the zone fail open":    {with(tgAttributes{}, one("a", StateUnhealthy), one("a", StateUnhealthy), one("b", StateUnhealthy)), 2},
		"another zone serves":          {with(tgAttributes{}, one("a", StateUnhealthy), one("b", StateHealthy)), 0},
		"across zones":                 {with(tgAttributes{crossZone: "true"}, one("a", StateUnhealthy), one("b", StateHealthy)), 1},
		"targets of any zone":          {with(tgAttributes{}, one("all", StateHealthy), one("", StateHealthy)), 2},
		"fewer than the threshold":     {with(tgAttributes{minHealthy: 2}, one("a", StateHealthy), one("a", StateUnhealthy)), 2},
		"less than the share":          {with(tgAttributes{minHealthyPercent: 60}, one("a", StateHealthy), one("a", StateUnhealthy)), 2},
		"draining, unused and unknown": {with(tgAttributes{}, one("a", StateDraining), one("a", StateUnused), one("a", StateInitial)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(tt.view.flowCandidates(at)); got != tt.want {
				t.Errorf("%d candidates, want %d", got, tt.want)
			}
		})
	}
}
